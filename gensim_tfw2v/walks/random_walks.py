"""Random walks on a graph as a corpus: node2vec and its kin without a text."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.corpus.protocol import Corpus, CorpusSource
from gensim_tfw2v.corpus.shard_files import Ids
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.options.kinds import Finite, Whole, positive
from gensim_tfw2v.processes.threads import in_threads
from gensim_tfw2v.walks.graph_readers import read_graph
from gensim_tfw2v.walks.metapaths import check_options, follow_node_types, follow_relations
from gensim_tfw2v.walks.node_names import find_name
from gensim_tfw2v.walks.node_types import read_node_types
from gensim_tfw2v.walks.relations import list_names
from gensim_tfw2v.walks.walk_corpus import WalkCorpus
from gensim_tfw2v.walks.walk_file import WalkOptions, write_walk_file
from gensim_tfw2v.walks.walk_shard import MAX_WALKS, draw_walks

#: Maximum number of walks that `RandomWalks.__iter__` draws at a time.
PIECE_WALKS = 1 << 12

#: Maximum number of their nodes, unless a walk is longer.
PIECE_STEPS = 1 << 19

#: Maximum ratio of two of the factors 1 / p, 1 and 1 / q. As many steps may have to be proposed
#: before one is accepted, for example at a node with one edge only, the one back.
MAX_FACTOR_RATIO = 1000


class RandomWalks(CorpusSource):
    r"""Random walks on a graph, as sentences whose words are the names of the nodes.

    Pass an object to `TFWord2Vec` as ``sentences`` to learn vectors of the nodes. The threads and
    the workers that train draw the walks when they need them, so no walk is stored or sent. The
    object is also an iterable of lists of names, for gensim's classes. Each iteration has new
    walks.

    With p = q = 1, the walks are those of DeepWalk (Perozzi et al. 2014): the next node is a random
    neighbour of the current one, in proportion to the weights of the edges. Otherwise they are
    those of node2vec (Grover and Leskovec 2016, section 3.2), in which the weight of an edge to a
    node x is multiplied by a factor that depends on the previous node t: by 1 / p if x is t, by 1
    if there is an edge from t to x, and by 1 / q otherwise.

    On a graph whose nodes have types, such as authors, papers and venues, a metapath prescribes the
    types of successive nodes (metapath2vec; Dong et al. 2017, section 3.2): the next node is a
    random neighbour of the next type, in proportion to the weights of the edges. On a knowledge
    graph, whose edges stand for relations, a walk contains the relation of each edge between the
    nodes at its ends (RDF2Vec; Ristoski and Paulheim 2016, section 3.1), so relations get vectors,
    too.

    Parameters
    ----------
    graph : object
        See `read_graph`: the path of a list or table of edges, a table of pandas, polars or
        pyarrow, a graph of NetworkX or igraph, a sparse matrix, or arrays.
    num_walks : int, default 10
        Number of walks that start at each node, per epoch, from 1 up.
    walk_length : int, default 80
        Number of nodes of a walk, from 1 up. Walks that reach a node without edges that they can
        follow are shorter.
    p : float, default 1
        Return parameter of node2vec, from 0.001 to 1,000. A small `p` keeps walks near their start.
    q : float, default 1
        In-out parameter of node2vec, from 0.001 to 1,000. A small `q` leads walks away from their
        start. The quotient p / q must be from 0.001 to 1,000, too, because a walk would have to try
        more steps than that to find one that it accepts.
    weight : str or array, optional
        Weights of the edges: the name of a column or of an edge attribute, or an array. By default,
        all edges have the same weight, unless the graph itself has weights.
    directed : bool, default False
        Whether an edge can be followed only from its first node to its second. Graphs of NetworkX
        and igraph have this property themselves.
    restart : float, default 0
        Probability, at each step, to return to the start of the walk instead, from 0 to below 1.
    start_nodes : iterable, optional
        Names of the nodes at which walks start; by default all nodes, or those at which the
        metapath starts. Integers may also be strings of digits, as they are in a text.
    extend : bool, default False
        For graphs with weights: treat light edges like missing ones, as node2vec+ does (Liu et al.
        2023).
    fixed : bool, default False
        Whether all epochs have the same walks. By default, each epoch has new ones.
    seed : int, default 1
        Seed of the walks, any number. The walks of an epoch depend on nothing else, whoever draws
        them.
    node_types : mapping, array, str or path, optional
        For a metapath of types of nodes, the type of each node: a mapping or a pandas Series from
        the node's name; an array, if the nodes are the integers 0 ... n - 1; the name of a node
        attribute, for graphs of NetworkX and igraph; or the path of a text with a node and its type
        in each line.
    relation : str or array, optional
        Relations for which the edges stand: the name of a column or of an edge attribute, or an
        array. Then edges of different relations between the same nodes are different edges. Set
        `directed`, unless each relation holds in both directions.
    metapath : iterable, optional
        Types that walks follow, repeated:

        - With `node_types`, types of successive nodes, such as ``["author", "paper", "venue",
          "paper", "author"]``. The last type is the first one. Walks start at its nodes.
        - With `relation`, relations of successive edges, such as ``["wrote", "cites"]``. Walks
          start at nodes with an edge of the first relation, and contain nodes only.

        `p`, `q` and `extend` can't be combined with a metapath.

    Attributes
    ----------
    names : sequence
        Name of each node, by its number. If walks contain relations, their names follow.
    n_nodes : int
        Number of nodes.

    Raises
    ------
    OSError
        If a file can't be read, or there is no space for the graph in the folder for temporary
        files.
    TypeError, ValueError
        If an option is invalid, or the graph: see `read_graph`.

    Examples
    --------
    >>> from gensim_tfw2v import RandomWalks, TFWord2Vec
    >>> walks = RandomWalks("edges.tsv", p=0.5, q=2)  # doctest: +SKIP
    >>> model = TFWord2Vec(walks, sg=1, window=10, sample=0, epochs=1)  # doctest: +SKIP

    >>> walks = RandomWalks(  # doctest: +SKIP
    ...     "papers.tsv", node_types="types.tsv", metapath=["author", "paper", "author"]
    ... )
    >>> walks = RandomWalks("triples.tsv", relation="predicate", directed=True)  # doctest: +SKIP
    """

    def __init__(
        self,
        graph: Any,
        num_walks: int = 10,
        walk_length: int = 80,
        p: float = 1,
        q: float = 1,
        weight: Any = None,
        directed: bool = False,
        restart: float = 0,
        start_nodes: Iterable[Any] | None = None,
        extend: bool = False,
        fixed: bool = False,
        seed: int = 1,
        *,
        node_types: Any = None,
        relation: Any = None,
        metapath: Iterable[Any] | None = None,
    ) -> None:
        self.num_walks = int(positive("num_walks", num_walks))
        self.walk_length = int(positive("walk_length", walk_length))
        self.p = _positive_number("p", p)
        self.q = _positive_number("q", q)
        _check_factors(self.p, self.q)
        self.restart = float(Finite(minimum=0)("restart", restart))
        if self.restart >= 1:
            raise ValueError(f"restart must be a probability below 1, got {quoted(restart)}")
        self.fixed = bool(fixed)
        self.seed = Whole()("seed", seed)
        is_first_order = self.p == self.q == 1 and not extend
        check_options(node_types, relation, metapath, is_first_order=is_first_order)
        csr_graph = read_graph(graph, weight, directed, relation)
        followed = None
        starts = None
        if metapath is not None:
            if node_types is None:
                followed = follow_relations(csr_graph, metapath)
            else:
                types = read_node_types(node_types, graph, csr_graph.names)
                followed = follow_node_types(csr_graph, types, metapath)
            csr_graph = followed.graph
            starts = followed.starts
        self.n_nodes = csr_graph.n_nodes
        self.names: Sequence[Any] = list_names(csr_graph)
        if start_nodes is not None:
            starts = _node_numbers(start_nodes, csr_graph.names)
            if followed is not None:
                followed.check_starts(starts)
        if extend and csr_graph.weights is None:
            raise ValueError(
                "extend=True has no effect, because all edges have the same weight: set weight, "
                "or leave out extend"
            )
        has_relations = csr_graph.relations is not None
        self._max_words = 2 * self.walk_length - 1 if has_relations else self.walk_length
        self._n_starts = self.n_nodes if starts is None else len(starts)
        if len(self) > MAX_WALKS:
            raise ValueError(
                f"num_walks={num_walks} from each of {self._n_starts:,} nodes are {len(self):,} "
                f"walks per epoch, and at most {MAX_WALKS:,} are supported: use fewer walks and "
                "more epochs"
            )
        self._options = WalkOptions(
            walk_length=self.walk_length,
            p=self.p,
            q=self.q,
            restart=self.restart,
            extend=bool(extend),
            is_fixed=self.fixed,
            seed=self.seed,
            starts=starts,
            metapath=None if followed is None else followed.steps,
        )
        self._temporary = TemporaryFolder("walks")
        self._path = self._temporary.folder / "walks"
        write_walk_file(self._path, csr_graph, self._options)
        self._n_iterations = 0
        self._corpus = WalkCorpus(
            self._path, self.names, self._n_starts, self.num_walks, self._max_words
        )

    def __len__(self) -> int:
        """Return the number of walks of an epoch."""
        return self.num_walks * self._n_starts

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield the walks of an epoch, as lists of names; each iteration is a new epoch."""
        for nodes in self.batches():
            lengths = np.count_nonzero(nodes >= 0, axis=1)
            for walk, length in zip(nodes.tolist(), lengths.tolist(), strict=True):
                yield [self.names[node] for node in walk[:length]]

    def batches(self) -> Iterator[Ids]:
        """Yield the walks of an epoch in batches, as `sample` returns them, for use by NumPy.

        Each call is a new epoch, as each iteration is; memory holds a few batches.
        """
        epoch = self._n_iterations
        self._n_iterations += 1
        yield from self._pieces(epoch, len(self))

    def sample(self, n: int | None = None) -> Ids:
        """Return the first walks of the first epoch, as numbers of nodes and relations.

        Parameters
        ----------
        n : int, optional
            Number of walks; by default, all of an epoch.

        Returns
        -------
        ndarray of int32 [n, L]
            Indices in `names`, with -1 behind the end of a walk that is shorter than L, which is
            `walk_length`, or 2 `walk_length` - 1 if walks contain relations. The nodes at which
            walks start are in random order.
        """
        n_walks = len(self) if n is None else Whole(minimum=0, maximum=len(self))("n", n)
        pieces = list(self._pieces(0, n_walks))
        return np.concatenate([np.empty((0, self._max_words), np.int32), *pieces])

    def _pieces(self, epoch: int, n_walks: int) -> Iterator[Ids]:
        """Draw the first walks of an epoch in threads; yield them in order, some at a time."""
        walk_file = np.memmap(self._path, np.uint8, "r")
        draw = partial(draw_walks, walk_file, epoch)
        n_piece_walks = max(1, min(PIECE_WALKS, PIECE_STEPS // self._max_words))

        def draw_piece(first: int, _: object) -> Ids:
            return draw(first, min(n_piece_walks, n_walks - first), self._max_words)

        return in_threads(draw_piece, range(0, n_walks, n_piece_walks), ahead=8)

    def open_corpus(self, tagged: bool) -> Corpus:
        """Open the walks for one reading."""
        if tagged:
            raise TypeError(
                "RandomWalks are no documents, because walks have no tags: pass them to TFWord2Vec "
                "or TFFastText"
            )
        return self._corpus


def _positive_number(name: str, value: Any) -> float:
    number = Finite()(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be above 0, got {quoted(value)}")
    return float(number)


def _check_factors(p: float, q: float) -> None:
    """Raise a ValueError if p and q multiply the weights of edges by too different factors."""
    if max(p, 1, q) > MAX_FACTOR_RATIO * min(p, 1, q):
        raise ValueError(
            f"p={p:g} and q={q:g} are too far from 1 or from each other: choose both, and p / q, "
            f"from {1 / MAX_FACTOR_RATIO} to {MAX_FACTOR_RATIO:,}; with p={MAX_FACTOR_RATIO}, "
            f"walks turn back {MAX_FACTOR_RATIO:,} times less often already"
        )


def _node_numbers(start_nodes: Iterable[Any], names: Sequence[Any]) -> NDArray[np.int32]:
    """Return the numbers of nodes with these names.

    Raises a ValueError if there are none, or a node has a different name.
    """
    if isinstance(start_nodes, str | bytes):
        raise TypeError(
            f"start_nodes must be several names, such as a list, got {quoted(start_nodes)}"
        )
    number_of = {name: number for number, name in enumerate(names)}
    try:
        numbers = [number_of[find_name(name, number_of)] for name in start_nodes]
    except KeyError as error:
        raise ValueError(
            f"start_nodes has {quoted(error.args[0])}, which is no node of the graph. Its first "
            f"nodes are {', '.join(quoted(name) for name in names[:3])}"
        ) from None
    if not numbers:
        raise ValueError("start_nodes is empty: leave it out to start at all nodes")
    return np.array(numbers, np.int32)
