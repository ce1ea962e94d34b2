"""Choice of the compiled kernels' options."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from gensim_tfw2v.compiled_library import Options, kernel_number
from gensim_tfw2v.kernel import sizes
from gensim_tfw2v.kernel.objective import Objective


def kernels_can_train(objective: Objective) -> bool:
    """Return whether the compiled kernels can train an objective.

    A field of `Objective` that is not an option of the kernels must have its default value.
    """
    return all(
        field.name in Options._fields or getattr(objective, field.name) == field.default
        for field in fields(objective)
    )


def choose_kernel_options(problem: Any) -> Options:
    """Choose the options of the compiled kernels for a `gensim_tfw2v.engines.problem.Problem`.

    Raises a ValueError if ``problem.kernel`` is the name of no kernel.
    """
    options = problem.options
    objective = options.objective
    shape = sizes.choose_kernel_shape(
        objective,
        window=problem.window,
        pairs=problem.pairs,
        alpha=options.alpha,
        ngram_overlap=problem.ngram_overlap,
        tokens=problem.tokens,
        most_frequent=problem.most_frequent,
        negative_shards=options.negative_shards,
        documents=options.has_documents,
    )
    objective_options = {
        name: value for name, value in asdict(objective).items() if name in Options._fields
    }
    kernel_options = Options(
        **objective_options,
        **asdict(shape),
        skip_targets=sizes.must_skip_targets(objective, problem.n_words),
        shards=options.negative_shards,
        shrink=options.shrink_windows,
        max_window=options.window if options.shrink_windows else problem.window,
        documents=options.has_documents,
        train_words=not options.has_documents or options.dbow_words,
        concatenated=options.concatenated,
        padding=problem.padding,
        learn_hidden=options.learn_hidden,
        kernel=kernel_number(problem.kernel) if problem.kernel else 0,
    )
    return Options._make(map(int, kernel_options))  # TensorFlow refuses bools
