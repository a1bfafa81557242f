from .difficulty import Difficulties as Difficulties
from .difficulty import ItemDifficulty as ItemDifficulty
from .difficulty import measure_difficulty as measure_difficulty
from .responses import Responses as Responses
from .responses import lay_out as lay_out
from .responses import read_responses as read_responses
from .shrink import ShortForm as ShortForm
from .shrink import shrink as shrink
