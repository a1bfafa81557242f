from .processes import map_in_processes as map_in_processes
from .threads import Engine as Engine
from .threads import open_engine as open_engine
