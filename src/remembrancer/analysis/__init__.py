"""Text analysis for keyword search: text in, search terms out."""

from remembrancer.analysis.acknowledgements import is_acknowledgement
from remembrancer.analysis.analyser import analyse, named_senders, query_terms
from remembrancer.analysis.questions import Question, take_apart
from remembrancer.analysis.speech import speech

__all__ = [
    "Question",
    "analyse",
    "is_acknowledgement",
    "named_senders",
    "query_terms",
    "speech",
    "take_apart",
]
