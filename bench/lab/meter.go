package lab

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
)

// Read implements [bench.Meter] with the costs of the replicas and the worker. Without /proc the CPU of director and
// Postgres, and memory, are 0.
func (l *Lab) Read(ctx context.Context) (bench.Reading, error) { return l.read(ctx, l.director()) }

func (l *Lab) director() []*Process {
	if l.worker == nil {
		return l.replicas
	}
	return append(slices.Clone(l.replicas), l.worker)
}

// Meter returns a meter of other processes of the lab.
func (l *Lab) Meter(processes ...*Process) bench.Meter { return meter{l, processes} }

type meter struct {
	lab       *Lab
	processes []*Process
}

func (m meter) Read(ctx context.Context) (bench.Reading, error) { return m.lab.read(ctx, m.processes) }

func (l *Lab) read(ctx context.Context, processes []*Process) (bench.Reading, error) {
	total, err := l.Database.Read(ctx)
	if err != nil {
		return total, err
	}
	if total.PostgresCPU, err = familyCPU(l.cluster.PID()); err != nil {
		return total, err
	}
	for _, p := range processes {
		cpu, rss, err := usage(p.PID())
		if err != nil {
			return total, err
		}
		total.ServerCPU += cpu
		total.ServerRSS = max(total.ServerRSS, rss)
	}
	total.Batches, err = allBatches(ctx, processes)
	return total, err
}

func allBatches(ctx context.Context, processes []*Process) (map[string]bench.Batches, error) {
	each := make([]map[string]bench.Batches, len(processes))
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range processes {
		group.Go(func() (err error) {
			each[i], err = batches(ctx, p.metrics)
			return err
		})
	}
	err := group.Wait()
	all := map[string]bench.Batches{}
	for _, replica := range each {
		for name, f := range replica {
			all[name] = all[name].Add(f)
		}
	}
	return all, err
}
