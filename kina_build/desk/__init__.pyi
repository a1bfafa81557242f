from .app import make_app as make_app
from .bench import Bench as Bench
from .bench import read_bench as read_bench
from .book import Book as Book
from .options import DeskOptions as DeskOptions
from .serve import open_desk as open_desk
from .serve import serve as serve
