"""Description of an option of the model classes: its check, default and properties."""

import enum
from dataclasses import dataclass
from typing import Any

from gensim_tfw2v.options.kinds import Kind


class Use(enum.Flag):
    """Properties of an option, combined by ``|``."""

    NONE = 0

    #: A checkpoint belongs to the same training run only if the value is equal.
    IDENTITY = enum.auto()

    #: The option is not an attribute of models.
    ARGUMENT = enum.auto()

    #: Models of all versions of gensim have the attribute: a file without it is damaged.
    NEEDED = enum.auto()

    #: TensorBoard shows the value.
    SHOWN = enum.auto()

    #: TensorBoard shows the value as true or false.
    SWITCH = enum.auto()

    #: TensorBoard shows the value if it is not the default.
    UNUSUAL = enum.auto()

    #: `tfw2v info` prints the value.
    INFO = enum.auto()

    #: A model's arrays depend on the value.
    ARRAYS = enum.auto()

    #: The value is the path of a folder to write to.
    FOLDER = enum.auto()

    #: The value must not change while a model trains.
    FIXED = enum.auto()

    #: The value is read again in each epoch.
    EACH_EPOCH = enum.auto()

    #: gensim's classes lack the option, and models are saved with it.
    OWN = enum.auto()

    #: gensim's classes lack the option, and models are saved without it.
    RUNNING = enum.auto()

    #: The option is an attribute of this package's classes that no argument sets.
    EXPERIMENT = enum.auto()

    #: gensim's code lacks the option, so it must not be set if gensim's code trains the model.
    REFUSED = enum.auto()


@dataclass(frozen=True)
class Option:
    """An option of the model classes.

    Attributes
    ----------
    name : str
        Name of the constructor's argument and of the model's attribute.
    kind : Kind
        Check of the argument.
    default : object
        gensim's default, or the value for models that lack the attribute. It is not checked.
    uses : Use
        Properties of the option.
    class_name : str
        "FastText" or "Doc2Vec" for an option of only that class.
    stored : Kind, optional
        Check of the model's attribute; by default `kind`, without conversion of strings.
    """

    name: str
    kind: Kind
    default: Any = None
    uses: Use = Use.NONE
    class_name: str = ""
    stored: Kind | None = None
