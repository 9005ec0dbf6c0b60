"""A class: learners' answers live on a projector, and notebooks handed in.

`server` is what ``dataflow class`` runs, over `store` (one SQLite file) and `questions` (what may be
answered, and how); `summary` counts for the projector, `reports` for the teacher's gradebook. On the
learner's side `membership` is ``dataflow.course.join``, and `transport` how it sends.
"""
