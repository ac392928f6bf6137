package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/orchestrator"
	"github.com/lattice-director/director/internal/cli"
)

const scenariosText = "Puts a load on a director and prints throughput, latency, and what a call costs: CPU, WAL, transactions.\n\n" +
	"  matchmake     a new player asks for a seat\n" +
	"  resolve       a new player exchanges a session handle for a session token\n" +
	"  heartbeat     the next game server sends a heartbeat\n" +
	"  register      a new game server registers\n" +
	"  session-life  a new player: matchmake, resolve, joined, left\n" +
	"  noop          the cost of matchmake without the database: the same stack, on the baselines\n" +
	"  fleet-noop    the same for heartbeat\n\n" +
	"Scenarios of the director loop, which matches the tickets of profiles. They apply profiles of their own:\n\n" +
	"  match-queue   --tickets wait; a version of their profile goes live that matches all: until game servers have the last\n" +
	"  match-servers --tickets are matched and wait for a game server: from its registration until game servers have the last\n" +
	"  match-life    two new players are queued for a duel and wait for the assignment\n" +
	"  match-steady  a new player is queued and matched, while --tickets wait whom no rule matches\n" +
	"  match-idle    --tickets wait whom no rule matches: a call is a second, and costs what the director uses in it\n\n" +
	"Scenarios of the Open Match API, over gRPC, with a match function and an Open Match director:\n\n" +
	"  tickets       a new player is queued\n" +
	"  watch         the same, while streams of watchers are open and idle\n" +
	"  query         queries all of the --tickets that wait\n" +
	"  fetch         --tickets wait, are fetched in pairs, and each pair is assigned\n" +
	"  ticket-life   a new player is queued and waits for the assignment\n\n" +
	"Scenarios of Rivalis, with simulated game servers attached (--agents):\n\n" +
	"  room-create   a room is created, on the game server that the director chooses\n" +
	"                (with --background, what a call costs in fleets of different --agents compares)\n" +
	"  room-life     a room is created, found on the next replica and destroyed\n" +
	"  agent-list    all game servers and their rooms are listed\n" +
	"  agent-304     the same, while nothing changes: 304\n" +
	"  agent-stats   the counts of the fleet are read\n" +
	"  agent-join    all game servers connect at once: until the last is listed\n" +
	"  agent-idle    game servers only answer polls, and the counts are read ten times: a call is a second, and costs what the\n" +
	"                director uses in it\n" +
	"  agent-busy    the same, while the state of each game server changes each second\n\n" +
	"Scenarios of the realtime lobby, over WebSocket:\n\n" +
	"  rooms-patch   a member changes the state of a room: until a member on the next replica has the patch\n" +
	"  rooms-hot     all callers change the state of one room: until the change is durable\n" +
	"  rooms-match   two clients on two replicas queue: from the second one until both know their match\n" +
	"  rooms-join    --sessions join one new room at once: until each knows all members\n" +
	"  rooms-storm   the connections of --sessions end, and all resume at the next replica at once: until each has its room's state\n" +
	"  rooms-idle    --sessions are connected and idle, and one calls ten times: a call is a second, and costs what the director\n" +
	"                uses in it\n\n" +
	"Each caller makes its next call as soon as it has its answer. With --rate calls are due at a fixed rate instead, and\n" +
	"their latency counts from when they were due, so that a stall shows in all calls that it delays.\n\n" +
	"Without --url it starts and measures a director: replicas as processes with default settings, except for no rate limit per\n" +
	"player and 4,096 calls in flight, and a durable Postgres in a temporary directory (TMPDIR: choose the disk to measure). They\n" +
	"share the machine with the load. With --url it measures a running director: it registers game servers in regions of its\n" +
	"own, leaves closed sessions in the history, and needs a private key that the director trusts; with DATABASE_URL (and\n" +
	"DIRECTOR_POOLER) it also shows what the database wrote. Failed calls are counted; they do not fail the command. For the\n" +
	"scenarios of Open Match --url is host:port of the gRPC listener; run them in a universe without other tickets, and run\n" +
	"fetch and ticket-life on the director's machine. Those of the director loop need an operator's token (DIRECTOR_OPS_TOKENS),\n" +
	"and a director that keeps tickets for which nobody waits (DIRECTOR_TICKET_LEASE=0). For those of Rivalis --url is that of the\n" +
	"orchestrator's listener; they need its keys (DIRECTOR_ORCHESTRATOR_AGENT_KEYS, DIRECTOR_ORCHESTRATOR_ADMIN_KEYS).\n" +
	"For those of the realtime lobby --url is that of its listener, the director needs --realtime-conformance, and a project's token is read\n" +
	"from DIRECTOR_BENCH_PROJECT_TOKEN."

func (p *program) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "director-bench SCENARIO",
		Short: "Measure how fast a director answers, and what its answers cost",
		Long:  scenariosText,
		Example: "  director-bench matchmake\n" +
			"  director-bench matchmake --callers 1,16,64,256 --baselines\n" +
			"  director-bench heartbeat --rate 2000 --instances 10000 --callers 256 --duration 1m\n" +
			"  director-bench session-life --callers 256 --duration 30s --output json | jq .per_second\n" +
			"  director-bench fetch --tickets 10000 --window 250ms --baselines\n" +
			"  director-bench match-queue --tickets 10000\n" +
			"  director-bench room-create --callers 1,8,32,128 --agents 200\n" +
			"  director-bench rooms-patch --replicas 2 --rate 500 --baselines\n" +
			"  director-bench resolve --url http://localhost:8080        # a 'director dev' that runs here",
		Args:          cli.Exactly(1),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	b := &benchmark{program: p}
	b.addFlags(cmd.Flags())
	cli.AddOutput(cmd)
	cmd.ValidArgsFunction = b.completeScenario
	cmd.AddCommand(p.prove(), p.rooms(), p.baseline(), p.version())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage(err) })
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		b.Scenario = args[0]
		if b.out, err = cli.OutputOf(cmd); err != nil {
			return err
		}
		if err := b.check(cmd.Flags()); err != nil {
			return cli.Usage(err)
		}
		return whileAwake(b.awake, wakeUpTime, func() error { return b.run(cmd.Context()) })
	}
	return cmd
}

func (b *benchmark) completeScenario(_ *cobra.Command, given []string,
	_ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return allScenarios(), cobra.ShellCompDirectiveNoFileComp
}

// benchmark holds the flags.
type benchmark struct {
	*program
	bench.Options

	family *family // of the scenario

	running   runningDirector
	director  string // the director's binary; "" is searched for
	out       cli.Output
	embedded  bool
	replicas  int
	sweep     []int // numbers of callers, one run each
	baselines bool
	awake     bool
	window    time.Duration // of Open Match
}

func (b *benchmark) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&b.embedded, "embedded", false, "Start and measure a director; the default without --url")
	flags.IntVar(&b.replicas, "replicas", 1,
		fmt.Sprintf("Replicas of the director that it starts, 1 to %d", mostReplicas))
	flags.StringSliceVar(&b.URLs, "url", nil,
		"Base URL of a replica, for the scenarios of Open Match host:port; callers are spread over several")
	flags.IntSliceVar(&b.sweep, "callers", []int{64},
		fmt.Sprintf("Concurrent callers, 1 to %d; several numbers, comma-separated, are measured one after another. "+
			"The scenarios of the director loop, Open Match, Rivalis and the realtime lobby have other defaults",
			bench.MaxCallers))
	flags.Float64Var(&b.Rate, "rate", 0,
		"Calls a second, independent of answers; --callers is then the most calls in flight. 0: each caller waits for its answer")
	flags.IntVar(&b.Instances, "instances", 16,
		fmt.Sprintf("Game servers to register, 1 to %d; at least one for each region", bench.MaxInstances))
	flags.IntVar(&b.Regions, "regions", 1,
		fmt.Sprintf("Regions of players and game servers, 1 to %d", bench.MaxRegions))
	flags.IntVar(&b.Modes, "modes", 1, fmt.Sprintf("Modes of players and game servers, 1 to %d", bench.MaxModes))
	flags.Float64Var(&b.HotShare, "hot-share", 0,
		"Share of the calls for the first mode, 0 to 1. 0: all modes get equal shares")
	flags.IntVar(&b.Tickets, "tickets", 0, fmt.Sprintf("Tickets that wait at the start of a turn, 1 to %d. "+
		"0: as many as usual, 10,000, of match-steady 20,000, of match-idle 50,000", bench.MaxTickets))
	flags.DurationVar(&b.Duration, "duration", 10*time.Second, "Duration of the measurement")
	flags.DurationVar(&b.WarmUp, "warm-up", 2*time.Second, "Duration of the load before the measurement")
	flags.DurationVar(&b.Background, "background", 0,
		"Duration of a measurement before the load, while nothing is called: "+
			"what the director uses for its game servers alone is then not in the costs of a call")
	flags.BoolVar(&b.baselines, "baselines", false,
		"Also measure, on the same database, the naive placement and the no-op; "+
			"for the director loop the no-op, notifications and single-row commits; for Open Match an echo and single-row commits; "+
			"for the realtime lobby all three")
	addAwakeFlag(flags, &b.awake)
	b.addDirectorFlag(flags, &b.director)
	b.addProtocolFlags(flags)
	b.running.addFlags(flags, b.program)
}

// addProtocolFlags adds the flags of the families.
func (b *benchmark) addProtocolFlags(flags *pflag.FlagSet) {
	flags.IntVar(&b.Connections, "connections", 8,
		fmt.Sprintf("Connections that callers of the Open Match API share, 1 to %d", bench.MaxConnections))
	flags.IntVar(&b.Watchers, "watchers", 5_000, fmt.Sprintf("Idle streams of watch, 1 to %d", bench.MaxWatchers))
	flags.DurationVar(&b.window, "window", 250*time.Millisecond,
		"How long calls can join a cycle of matching, for the director that it starts")
	flags.IntVar(&b.Agents, "agents", 0, fmt.Sprintf(
		"Simulated Rivalis game servers, 1 to %d. 0: as many as usual, 1,000, of room-create and room-life 200",
		bench.MaxAgents))
	flags.IntVar(&b.Rooms, "rooms", -1, fmt.Sprintf(
		"Rooms that each of them has made itself, 0 to %d. -1: as many as usual, 4, where rooms are created none",
		bench.MaxRooms))
	flags.IntVar(&b.Sessions, "sessions", -1,
		fmt.Sprintf("Sessions of the realtime lobby beside those of callers, 0 to %d. "+
			"-1: as many as usual, of rooms-idle 10,000, of rooms-storm 5,000, of rooms-join 1,000, else none",
			bench.MaxSessions))
}

// mostReplicas is how many replicas the Postgres of a laboratory has connections for, with default settings.
const mostReplicas = 8

// check sets the defaults of the scenario and validates the flags.
//
//nolint:gocyclo // a list of checks
func (b *benchmark) check(flags *pflag.FlagSet) error {
	for i, url := range b.URLs {
		b.URLs[i] = strings.TrimRight(url, "/")
	}
	running := len(b.URLs) > 0
	b.family = familyOf(b.Scenario)
	switch {
	case b.embedded && running:
		return errors.New("--embedded and --url exclude each other")
	case running && (b.replicas > 1 || b.baselines):
		return errors.New("--replicas and --baselines are for a director of its own, without --url")
	case b.replicas < 1 || b.replicas > mostReplicas:
		return fmt.Errorf("%d replicas: there must be 1 to %d", b.replicas, mostReplicas)
	case b.family == nil:
		return fmt.Errorf("unknown scenario %q: there are %s", b.Scenario, strings.Join(allScenarios(), ", "))
	}
	for _, url := range b.URLs {
		if err := b.family.checkURL(url, b.Scenario); err != nil {
			return err
		}
	}
	b.setUsualLoad(flags)
	if b.family.protocol == orchestrator.Protocol {
		b.takeOrchestratorKeys(running)
	}
	o := b.Options
	if !running {
		o.URLs = []string{"http://127.0.0.1"} // known once it runs
	}
	for _, o.Callers = range b.sweep {
		if err := o.Check(); err != nil {
			return err
		}
	}
	return nil
}

// setUsualLoad sets the usual load of a scenario that has one where flags do not set it.
func (b *benchmark) setUsualLoad(flags *pflag.FlagSet) {
	b.Protocol = b.family.protocol
	usual := b.family.usual(b.Scenario)
	if usual.Callers != 0 && !flags.Changed("callers") {
		b.sweep = []int{usual.Callers}
	}
	if usual.Callers != 0 && !flags.Changed("rate") {
		b.Rate = usual.Rate
	}
	if b.Rooms == -1 {
		b.Rooms = usual.Rooms
	}
	if b.Sessions == -1 {
		b.Sessions = usual.Sessions
	}
}
