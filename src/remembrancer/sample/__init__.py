"""Sample data: two people, three agents, four conversations."""

from remembrancer.sample.data import Sample, SampleQuestion, load
from remembrancer.sample.insert import fill

__all__ = ["Sample", "SampleQuestion", "fill", "load"]
