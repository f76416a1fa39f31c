"""Memory for AI agents that keeps people apart."""

import lazy_loader

# A client or a short command must not wait for packages that it does not use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
