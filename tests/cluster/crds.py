"""Parts of the schemas of JobSet, TrainJob and ClusterTrainingRuntime that our files use.

They follow the CustomResourceDefinitions of JobSet (jobset.x-k8s.io/v1alpha2) and Kubeflow Trainer
(trainer.kubeflow.org/v1alpha1): names, required fields, types and values of enumerations. Templates
of Jobs in them are those of Kubernetes, and have schemas of their own.
"""

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}
OBJECT = {"type": "object"}


def list_of(items):
    return {"type": "array", "items": items}


def fields(required=(), **properties):
    """Return the schema of an object that has no other fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


NAMES = {"type": "object", "additionalProperties": STRING}

#: Name of a Service. The name of a TrainJob becomes one: that of its JobSet and its subdomain.
LABEL = {"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}

METADATA = fields(("name",), name=LABEL, labels=NAMES, annotations=NAMES)

JOB_SET_SPEC = fields(
    replicatedJobs=list_of(
        fields(
            ("name", "template"),
            name=LABEL,
            replicas=INTEGER,
            template=fields(("spec",), metadata=fields(labels=NAMES), spec=OBJECT),
        )
    ),
    network=fields(enableDNSHostnames=BOOLEAN, subdomain=LABEL, publishNotReadyAddresses=BOOLEAN),
    successPolicy=fields(
        ("operator",), operator={"enum": ["All", "Any"]}, targetReplicatedJobs=list_of(STRING)
    ),
)


def kind(name, version, spec):
    """Return the schema of a kind of objects."""
    return fields(
        ("apiVersion", "kind", "metadata", "spec"),
        apiVersion={"const": version},
        kind={"const": name},
        metadata=METADATA,
        spec=spec,
    )


SCHEMAS = {
    "JobSet": kind("JobSet", "jobset.x-k8s.io/v1alpha2", JOB_SET_SPEC),
    "ClusterTrainingRuntime": kind(
        "ClusterTrainingRuntime",
        "trainer.kubeflow.org/v1alpha1",
        fields(
            mlPolicy=fields(numNodes=INTEGER),
            template=fields(metadata=OBJECT, spec=JOB_SET_SPEC) | {"minProperties": 1},
        )
        | {"minProperties": 1},
    ),
    "TrainJob": kind(
        "TrainJob",
        "trainer.kubeflow.org/v1alpha1",
        fields(
            ("runtimeRef",),
            runtimeRef=fields(
                ("name",),
                name=STRING | {"minLength": 1, "maxLength": 253},
                apiGroup=STRING,
                kind={"enum": ["ClusterTrainingRuntime", "TrainingRuntime"]},
            ),
            trainer=fields(
                image=STRING,
                command=list_of(STRING) | {"maxItems": 128},
                args=list_of(STRING) | {"maxItems": 128},
                env=list_of(OBJECT),
                numNodes=INTEGER,
                resourcesPerNode=OBJECT,
            ),
            suspend=BOOLEAN,
        ),
    ),
}
