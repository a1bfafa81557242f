"""Ask an OpenAI-compatible endpoint many questions, and be able to stop and go on.

What a call is goes by its key: equal requests are asked once, and a request that the log
already answers is not asked again.
"""

from kina_build.chat.batches import complete_batches, fold_batches
from kina_build.chat.client import Meter, complete
from kina_build.chat.endpoint import Endpoint
from kina_build.chat.log import ReplyLog
from kina_build.chat.records import ChatReply, ChatRequest, Status, cost_of, count_statuses

__all__ = [
    "ChatReply",
    "ChatRequest",
    "Endpoint",
    "Meter",
    "ReplyLog",
    "Status",
    "complete",
    "complete_batches",
    "cost_of",
    "count_statuses",
    "fold_batches",
]
