"""Text analysis for the keyword arm: text in, search terms out."""

from remembrancer.analysis.analyser import analyse, query_terms
from remembrancer.analysis.names import named

__all__ = ["analyse", "named", "query_terms"]
