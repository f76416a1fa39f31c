"""A small world to try things on: two people, three agents, four conversations."""

from remembrancer.sample.data import Question, Sample, load
from remembrancer.sample.insert import fill

__all__ = ["Question", "Sample", "fill", "load"]
