"""Text analysis for keyword search: text in, search terms out."""

from remembrancer.analysis.analyser import analyse, named_senders, query_terms
from remembrancer.analysis.acknowledgements import is_acknowledgement

__all__ = ["analyse", "is_acknowledgement", "named_senders", "query_terms"]
