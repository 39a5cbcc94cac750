"""Free energies from simulations at several thermodynamic states."""
