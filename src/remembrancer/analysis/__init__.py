"""Text analysis for keyword search: text in, search terms out."""

from remembrancer.analysis.acknowledgements import is_acknowledgement
from remembrancer.analysis.analyser import analyse, named_senders, query_terms
from remembrancer.analysis.impersonal import is_impersonal

__all__ = ["analyse", "is_acknowledgement", "is_impersonal", "named_senders", "query_terms"]
