"""Random forest of all labels: grown by scikit-learn's trees, stored in compact form."""
