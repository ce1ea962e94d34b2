"""TFDoc2Vec: gensim's Doc2Vec with the engine of `TFWord2Vec` under `train`."""

import inspect
from typing import Any

from gensim_tfw2v.model import TFWord2Vec, signature_of
from gensim_tfw2v.originals import Doc2Vec, Word2Vec
from gensim_tfw2v.training.vocabulary import renew_norms


class TFDoc2Vec(TFWord2Vec, Doc2Vec):
    """gensim's Doc2Vec, trained like `TFWord2Vec`."""

    _of_gensim = Doc2Vec
    has_documents = True

    @classmethod
    def _gensims_parameters(cls) -> list[inspect.Parameter]:
        """Those of gensim's Doc2Vec, and those that it hands on to Word2Vec."""
        own = inspect.signature(Doc2Vec).parameters
        handed_on = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in inspect.signature(Word2Vec).parameters.items()
            if name not in (*own, "sentences", "sg", "null_word")
        ]
        return [parameter for name, parameter in own.items() if name != "kwargs"] + handed_on

    @classmethod
    def _arguments(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        given = super()._arguments(*args, **kwargs)
        return given | {"sg": not given["dm"]}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        dm_mean = TFDoc2Vec.__signature__.bind(*args, **kwargs).arguments.get("dm_mean")
        if dm_mean is not None:  # which gensim overwrites by its default
            kwargs["cbow_mean"] = dm_mean
        super().__init__(*args, **kwargs)

    def _clear_post_train(self) -> None:
        super()._clear_post_train()
        renew_norms(self.dv)


TFDoc2Vec.__signature__ = signature_of(TFDoc2Vec)
