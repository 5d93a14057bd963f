"""Functions as tasks: `from mainspring import App`."""

from mainspring.application.app import App as App
from mainspring.application.arguments import WrongArguments as WrongArguments
from mainspring.application.task import Submitted as Submitted
from mainspring.application.task import Task as Task
