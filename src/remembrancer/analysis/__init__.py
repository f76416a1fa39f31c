"""Text analysis for keyword search: text in, search terms out."""

from remembrancer.analysis.acknowledgements import is_acknowledgement
from remembrancer.analysis.analyser import analyse, query_terms
from remembrancer.analysis.names import named_senders

__all__ = ["analyse", "is_acknowledgement", "named_senders", "query_terms"]
