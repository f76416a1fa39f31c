"""Fakes for tests of your own agents."""

from remembrancer.testing.platforms import FakePlatform

__all__ = ["FakePlatform"]
