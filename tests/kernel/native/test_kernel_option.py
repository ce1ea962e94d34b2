"""The option `kernel` selects an instruction set; one that is not usable here is refused."""

from dataclasses import replace

import numpy as np
import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.compiled_library import kernel_number
from gensim_tfw2v.engines.problem import Problem
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.sizes import choose_kernel_options
from gensim_tfw2v.kernel.word_arrays import Lists
from tests.kernel.native.models import Model
from tests.kernel.native.test_interfaces import trained_by_ops
from tests.kernel.native.units import KERNELS, kernels_here, make_case, padded, words_of

#: Options of kernels that no processor has.
UNKNOWN = (-1, len(KERNELS) + 1, 1 << 30)


def trained(case, kernel):
    tables = case.trained()
    tables.train(case.options._replace(kernel=kernel), case.unit, case.alphas)
    return tables.rows[0]


def test_option_0_is_the_default_kernel():
    case = make_case(tokens=400, size=100)
    default = trained(case, kernel_number(by_ctypes.variant()))
    np.testing.assert_array_equal(trained(case, 0), default)


@pytest.mark.skipif(len(kernels_here()) < 2, reason="this processor has one kernel only")
def test_each_kernel_trains_with_its_own_rounding():
    case = make_case(tokens=400, size=100)
    rows = {name: trained(case, kernel_number(name)).tobytes() for name in kernels_here()}
    assert len(set(rows.values())) == len(rows)


def test_op_trains_by_the_same_kernel_as_ctypes():
    case = make_case(tokens=400, size=100)
    for name in kernels_here():
        options = case.options._replace(kernel=kernel_number(name))
        tables = case.trained()
        tables.train(options, case.unit, case.alphas)
        expected, _ = trained_by_ops(case._replace(options=options))
        for table, of_ops in zip(padded(tables), expected, strict=True):
            np.testing.assert_array_equal(table, of_ops)


@pytest.mark.parametrize("kernel", UNKNOWN)
def test_unusable_kernel_is_refused_before_rows_change(kernel):
    case = make_case()
    tables = case.trained()
    options = case.options._replace(kernel=kernel)
    names = "They have: " + " ".join(kernels_here())
    with pytest.raises(ValueError, match=names):
        tables.train(options, case.unit, case.alphas)
    for rows, right in zip(tables.rows, case.tables, strict=True):
        np.testing.assert_array_equal(rows, right)
    nothing = np.zeros(0, np.int32)
    with pytest.raises(ValueError, match=names):
        by_ctypes.draw(options, nothing, np.zeros(2, np.int32), words_of())
    model = Model("DBOW")
    alphas = np.ones(1, np.float32)
    with pytest.raises(ValueError, match=names):
        by_ctypes.infer(
            model.options._replace(kernel=kernel),
            model.tables,
            model.words,
            Lists.of([np.arange(3)]),
            alphas,
            1,
        )


def options_of(kernel):
    problem = Problem(TFWord2Vec()._current_config(), n_words=10, tokens=100, window=5, pairs=6)
    return choose_kernel_options(replace(problem, kernel=kernel))


def test_problem_names_the_kernel():
    assert options_of("").kernel == 0
    numbers = [options_of(name).kernel for name in KERNELS]
    assert numbers == list(range(1, len(KERNELS) + 1))
    with pytest.raises(ValueError, match=r"kernel must be one of .*portable, not 'avx1024'"):
        options_of("avx1024")
