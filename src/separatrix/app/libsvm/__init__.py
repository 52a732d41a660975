"""What LIBSVM's `svm-train`, `svm-predict` and `svm-scale` do, with their files and their words."""
