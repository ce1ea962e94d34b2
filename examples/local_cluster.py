"""Train on a cluster on this machine: two ps tasks, which hold the vectors, and two workers.

Run it with ``python examples/local_cluster.py``. The corpus, 300 news texts, comes with gensim.
The program prints the traffic between the tasks, statistics of the workers, and the neighbours of
three words; docs/first-cluster.md explains them. On a single machine, threads (without `cluster`)
are faster: this example only demonstrates a cluster.
"""

from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec


def main() -> None:
    """Train skip-gram vectors on the Lee corpus and print traffic and neighbours."""
    model = TFWord2Vec(
        LineSentence(datapath("lee_background.cor")),
        vector_size=50,
        sg=1,
        epochs=20,
        workers=1,  # threads of each worker task
        seed=1,
        cluster="local:ps=2,worker=2",  # tasks run only during the training
    )
    print(model.traffic)
    for word in ("attacks", "government", "cricket"):
        neighbours = model.wv.most_similar(word, topn=5)
        print(
            f"{word}: " + ", ".join(f"{neighbour} {cosine:.2f}" for neighbour, cosine in neighbours)
        )


if __name__ == "__main__":
    main()
