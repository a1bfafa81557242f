"""Run lighteval on a release's task and on the same questions answered freely; run by its own Python.

Usage: python light_run.py TASK_FILE MODEL_FOLDER OUTPUT. Not by its command: that imports all its
benchmarks, of which one asks the hub for a list.
"""

from __future__ import annotations

import dataclasses
import sys


def main(file: str, model: str, output: str) -> None:
    """Evaluate, and keep results and details as the command would."""
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.metrics.metrics import Metrics
    from lighteval.models.transformers.transformers_model import TransformersModelConfig
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
    from lighteval.tasks.registry import Registry

    module = Registry.create_custom_tasks_module(file)
    [likeliest] = module.TASKS_TABLE
    spoken = {"name": f"{likeliest.name}_gen", "metrics": [Metrics.exact_match], "generation_size": 4}
    module.TASKS_TABLE.append(dataclasses.replace(likeliest, **spoken))
    Registry.load_all_task_configs = staticmethod(
        lambda custom_tasks, load_multilingual: Registry._extract_configs(custom_tasks)
    )
    pipeline = Pipeline(
        tasks=",".join(f"{config.name}|0" for config in module.TASKS_TABLE),
        pipeline_parameters=PipelineParameters(ParallelismManager.NONE, custom_tasks_directory=module),
        evaluation_tracker=EvaluationTracker(output_dir=output, save_details=True),
        model_config=TransformersModelConfig(
            model_name=model, device="cpu", dtype="float32", batch_size=8, cache_dir=f"{output}/cache"
        ),
    )
    pipeline.evaluate()
    pipeline.save_and_push_results()


if __name__ == "__main__":
    main(*sys.argv[1:])
