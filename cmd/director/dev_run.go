package main

import (
	"io"
	"log/slog"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// devRun is a running `director dev`.
type devRun struct {
	stdout         io.Writer
	conf           *loaded
	log            *slog.Logger
	dataDir        dataDir
	privateCluster *pglocal.Cluster // nil with a DATABASE_URL
	poolFile       *poolfile.File   // nil without --pools
}
