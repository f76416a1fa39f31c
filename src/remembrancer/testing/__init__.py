"""What tests of your own agents may use: stand-ins for what lives elsewhere."""

from remembrancer.testing.platforms import FakePlatform

__all__ = ["FakePlatform"]
