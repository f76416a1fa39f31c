"""Sample data: two people, three agents, four conversations."""

from remembrancer.sample.data import Sample, SampleQuestion, fill, load

__all__ = ["Sample", "SampleQuestion", "fill", "load"]
