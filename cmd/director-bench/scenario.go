package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "director-bench SCENARIO",
		Short: "Measure how fast a director answers, and what its answers cost",
		Long: "Puts a load on a director and prints throughput, latency, and what a call costs: CPU, WAL, transactions.\n\n" +
			"  matchmake     another player each time asks for a seat\n" +
			"  resolve       another player each time exchanges a handle for a session token\n" +
			"  heartbeat     game servers beat in turn\n" +
			"  register      another game server each time registers\n" +
			"  session-life  another player each time: matchmake, resolve, joined, left\n" +
			"  mixed         four turns of five are heartbeat, one is session-life\n" +
			"  noop          what matchmake costs without the database: the same stack, on the baselines\n" +
			"  fleet-noop    the same of heartbeat\n\n" +
			"of Open Match's API, over gRPC, with a match function and a director of its own:\n\n" +
			"  tickets       another player each time is queued\n" +
			"  watch         the same, while others watch streams on which nothing happens\n" +
			"  query         asks for all of --tickets that wait\n" +
			"  fetch         --tickets wait, are fetched in pairs, and each pair is assigned\n" +
			"  ticket-life   another player each time is queued and waits for the assignment\n\n" +
			"Each caller asks again as soon as it has its answer. With --rate calls are due at a rate instead, whatever the answers,\n" +
			"and their latency counts from then: a stall is not hidden.\n\n" +
			"Without --url it measures a director of its own: replicas as processes, with default settings, but no limit per player and 4,096 calls at a time,\n" +
			"and a durable Postgres in a temporary directory (of TMPDIR: choose the disk that you want to measure). All of it and the\n" +
			"load share this machine. With --url it measures a running one: it registers game servers in regions of its own, leaves\n" +
			"closed sessions in its history, and needs a key that the director believes; with DATABASE_URL (and DIRECTOR_POOLER) it also shows what its\n" +
			"database wrote. Calls that fail are counted, and are no error. For Open Match's scenarios --url is host:port of its gRPC\n" +
			"listener; give them a universe to themselves, and for fetch and ticket-life one on this machine.",
		Example: "  director-bench matchmake\n" +
			"  director-bench matchmake --callers 1,16,64,256 --baselines --report bench.html\n" +
			"  director-bench heartbeat --rate 2000 --instances 10000 --callers 256 --duration 1m\n" +
			"  director-bench session-life --callers 256 --duration 30s --output json | jq .per_second\n" +
			"  director-bench fetch --tickets 10000 --window 250ms --baselines\n" +
			"  director-bench resolve --url http://localhost:8080        # a 'director dev' that runs here",
		Args:              cli.Exactly(1),
		ValidArgsFunction: completeScenario,
		SilenceUsage:      true,
		SilenceErrors:     true,
	}
	b := &benchmark{program: p}
	b.addFlags(cmd.Flags())
	cli.AddOutput(cmd)
	cmd.AddCommand(p.prove(), p.baseline(), p.version())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage(err) })
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		b.Scenario = args[0]
		if b.out, err = cli.OutputOf(cmd); err != nil {
			return err
		}
		b.likeUsual(cmd.Flags())
		if err := b.check(); err != nil {
			return cli.Usage(err)
		}
		return whileAwake(b.awake, wakeUpTime, func() error { return b.run(cmd.Context()) })
	}
	return cmd
}

func completeScenario(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return allScenarios(), cobra.ShellCompDirectiveNoFileComp
}

// benchmark is what was asked for.
type benchmark struct {
	*program
	bench.Options

	openMatch openMatchLoad
	running   runningDirector
	director  string // the program, of a director of its own; "" is to be found
	out       cli.Output
	embedded  bool
	replicas  int
	sweep     []int // callers of one run after another
	baselines bool
	awake     bool
	report    string // a file, or ""
}

func (b *benchmark) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&b.embedded, "embedded", false, "Measure a director of its own; so it is anyway without --url")
	flags.IntVar(&b.replicas, "replicas", 1, fmt.Sprintf("How many replicas the director of its own has, 1 to %d", mostReplicas))
	flags.StringSliceVar(&b.URLs, "url", nil, "Base URL of a replica, for Open Match's scenarios host:port; callers take several in turn")
	flags.IntSliceVar(&b.sweep, "callers", []int{64}, fmt.Sprintf("How many call at a time, 1 to %d; several, comma-separated, are measured one after another. "+
		"Open Match's scenarios have defaults of their own", bench.MaxCallers))
	flags.Float64Var(&b.Rate, "rate", 0, "Calls a second, whatever the answers; --callers is then how many may wait for one. 0: each asks again when it has its answer")
	flags.IntVar(&b.Instances, "instances", 16, fmt.Sprintf("How many game servers to register, 1 to %d; one for each region at least", bench.MaxInstances))
	flags.IntVar(&b.Regions, "regions", 1, fmt.Sprintf("Regions that players and game servers are spread over, 1 to %d", bench.MaxRegions))
	flags.IntVar(&b.Modes, "modes", 1, fmt.Sprintf("Modes that players ask for, 1 to %d", bench.MaxModes))
	flags.Float64Var(&b.HotShare, "hot-share", 0, "Share of the calls that ask for the first mode, 0 to 1. 0: all modes alike")
	flags.DurationVar(&b.Duration, "duration", 10*time.Second, "How long to measure")
	flags.DurationVar(&b.WarmUp, "warm-up", 2*time.Second, "How long to load before measuring")
	flags.BoolVar(&b.baselines, "baselines", false, "Measure beside it, on the same database, the naive placement and the no-op; of Open Match's an echo and single-row commits")
	addAwakeFlag(flags, &b.awake)
	flags.StringVar(&b.report, "report", "", "Write an HTML page with plots to this file, too")
	b.addDirectorFlag(flags, &b.director)
	b.openMatch.addFlags(flags)
	b.running.addFlags(flags, b.program)
}

// mostReplicas is how many the Postgres of a laboratory has connections for, with default settings.
const mostReplicas = 8

func (b *benchmark) checkURLs() error {
	for _, url := range b.URLs {
		_, _, err := net.SplitHostPort(url)
		switch web := strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://"); {
		case b.ofOpenMatch() && (web || err != nil):
			return fmt.Errorf("--url %s: %s is called over gRPC, at the host:port of a replica's --grpc-addr, without TLS", url, b.Scenario)
		case !b.ofOpenMatch() && !web:
			return fmt.Errorf("--url %s: %s is called over HTTP, at http://host:port or https://host:port", url, b.Scenario)
		}
	}
	return nil
}

func (b *benchmark) check() error {
	for i, url := range b.URLs {
		b.URLs[i] = strings.TrimRight(url, "/")
	}
	running := len(b.URLs) > 0
	switch {
	case b.embedded && running:
		return errors.New("--embedded and --url exclude each other")
	case running && (b.replicas > 1 || b.baselines):
		return errors.New("--replicas and --baselines are for a director of its own, without --url")
	case b.replicas < 1 || b.replicas > mostReplicas:
		return fmt.Errorf("%d replicas: there must be 1 to %d", b.replicas, mostReplicas)
	case !slices.Contains(allScenarios(), b.Scenario):
		return fmt.Errorf("unknown scenario %q: there are %s", b.Scenario, strings.Join(allScenarios(), ", "))
	}
	if err := b.checkURLs(); err != nil {
		return err
	}
	o := b.Options
	if !running {
		o.URLs = []string{"http://127.0.0.1"} // known once it runs
	}
	for _, o.Callers = range b.sweep {
		if err := b.checkLoad(o); err != nil {
			return err
		}
	}
	return nil
}
