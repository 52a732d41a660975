"""What estimators share.

- input: prepare (checks of `fit` and `predict`), labels, sample_types; blocks, labelled_blocks (streams);
  handover (samples on a cluster)
- parameters: parameters, class_weight_params, device_params, logistic_penalty, nystroem_kernel
- kernel machines: kernel_machine, multiclass; support, support_machine, support_scores, support_sum;
  svc_fit, svc_certificate, svc_training, svc_path; perceptron_fit; probabilistic_machine; class_pairs
- linear machines: linear_machine, linear_plan, online_machine, logistic_stream
- sums over the samples: one_pass, gaussian_classes
- nearest neighbours: neighbor_queries, neighbor_voting, row_groups
- searches: kernel_search, gram_training, grid_widening, fold_race, kernel_combination, nystroem_search,
  tuned
- fits in progress, and GPUs: monitoring, rollback (of fits that raise), decorate;
  device_samples, device_support
"""
