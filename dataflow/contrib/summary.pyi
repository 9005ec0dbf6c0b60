from dataflow.summary.recording import (
    all_summary_ops as all_summary_ops,
    audio as audio,
    generic as generic,
    graph_ as graph,
    histogram as histogram,
    image as image,
    import_event as import_event,
    initialize as initialize,
    scalar as scalar,
)
from dataflow.summary.writers import (
    SummaryWriter as SummaryWriter,
    always_record_summaries as always_record_summaries,
    create_file_writer as create_file_writer,
    create_summary_file_writer as create_summary_file_writer,
    eval_dir as eval_dir,
    flush as flush,
    never_record_summaries as never_record_summaries,
    record_summaries_every_n_global_steps as record_summaries_every_n_global_steps,
    should_record_summaries as should_record_summaries,
    summary_writer_initializer_op as summary_writer_initializer_op,
)
