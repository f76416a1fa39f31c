"""Text analysis for keyword search: text in, search terms out."""

from remembrancer.analysis.acknowledgements import is_acknowledgement
from remembrancer.analysis.analyser import analyse, named_senders, query_terms

__all__ = ["analyse", "is_acknowledgement", "named_senders", "query_terms"]
