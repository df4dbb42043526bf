"""Units of F1 (IEEE Micro, section "Functional Units")."""
