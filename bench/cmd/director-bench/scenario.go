package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/server/rest"
)

const methodText = "Each caller makes its next call as soon as it has its answer. With --rate calls are due at a fixed rate instead, and\n" +
	"their latency counts from when they were due, so that a stall shows in all calls that it delays.\n\n" +
	"Without --url it starts and measures a director: replicas as processes with default settings, except for no rate limit per\n" +
	"player and 4,096 calls in flight, and a durable Postgres in a temporary directory (TMPDIR: choose the disk to measure). They\n" +
	"share the machine with the load. With --url it measures a running director: it registers game servers in regions of its\n" +
	"own, leaves closed sessions in the history, and needs a private key that the director trusts; with DATABASE_URL (and\n" +
	"DIRECTOR_POOLER) it also shows what the database wrote. DIRECTOR_DATA, DIRECTOR_AUTH_ISSUER and DIRECTOR_AUTH_AUDIENCE\n" +
	"are read as the director reads them. Failed calls are counted; they do not fail the command. For the\n" +
	"scenarios of Open Match --url is host:port of the gRPC listener; run them in a universe without other tickets, and run\n" +
	"fetch and ticket-life on the director's machine. Those of the director loop need an operator's token (DIRECTOR_OPS_TOKENS),\n" +
	"and a director that keeps tickets for which nobody waits (DIRECTOR_TICKET_LEASE=0). For those of Rivalis --url is that of the\n" +
	"orchestrator's listener; they need its keys (DIRECTOR_ORCHESTRATOR_AGENT_KEYS, DIRECTOR_ORCHESTRATOR_ADMIN_KEYS).\n" +
	"For those of the realtime lobby --url is that of its listener, the director needs --realtime-conformance, and a project's token is read\n" +
	"from DIRECTOR_BENCH_PROJECT_TOKEN."

// benchmark holds the flags.
type benchmark struct {
	program   *program
	options   bench.Options
	family    *family // of the scenario
	issuerKey string  // of a director that runs elsewhere; "": that of the data directory
	replicas  int
	sweep     []int // numbers of callers, one run each
	// registrationWindow is how long calls can join a cycle of Open Match, of a director of its own.
	registrationWindow time.Duration
}

// addFlags adds those that other commands do not have.
func (b *benchmark) addFlags(flags *pflag.FlagSet) {
	o := &b.options
	flags.IntVar(&b.replicas, "replicas", 1,
		fmt.Sprintf("Replicas of the director that it starts, 1 to %d", maxReplicas))
	flags.StringSliceVar(&o.URLs, "url", nil,
		"Base URL of a replica, for the scenarios of Open Match host:port; callers are spread over several")
	flags.IntSliceVar(&b.sweep, "callers", nil,
		fmt.Sprintf("Concurrent callers, 1 to %d; several numbers, comma-separated, are measured one after another. "+
			"Not set: as many as usual in the scenario, of most 64", bench.MaxCallers))
	flags.Float64Var(&o.Load.Rate, "rate", 0,
		"Calls a second, independent of answers; --callers is then the most calls in flight. 0: each caller waits for its answer")
	for _, size := range o.Load.Sizes(bench.Load{}) {
		if size.About != "" {
			flags.IntVar(size.Value, size.Name, 0, size.About+". Not set: as many as usual in the scenario")
		}
	}
	flags.Float64Var(&o.Load.HotShare, "hot-share", 0,
		"Share of the calls for the first mode, 0 to 1. 0: all modes get equal shares")
	flags.DurationVar(&o.Duration, "duration", 10*time.Second, "Duration of the measurement")
	flags.DurationVar(&o.WarmUp, "warm-up", 2*time.Second, "Duration of the load before the measurement")
	flags.DurationVar(&o.Background, "background", 0,
		"Duration of a measurement before the load, while nothing is called: "+
			"what the director uses for its game servers alone is then not in the costs of a call")
	flags.DurationVar(&b.registrationWindow, "window", 250*time.Millisecond,
		"How long calls can join a cycle of matching, for the director that it starts")
	flags.StringVar(&b.issuerKey, "issuer-key", b.program.variable("DIRECTOR_ISSUER_KEY"),
		"With --url: a file with a private JWK to sign players' access tokens with. "+
			"Not set: issuer.jwk in the data directory of a 'director dev' [DIRECTOR_ISSUER_KEY]")
}

// maxReplicas is how many replicas the Postgres of a laboratory has connections for, with default settings.
const maxReplicas = 8

// check sets the defaults of the scenario and validates the flags.
func (b *benchmark) check(scenario string, flags *pflag.FlagSet) error {
	o := &b.options
	isRunning := len(o.URLs) > 0
	b.family, o.Scenario = findScenario(scenario)
	switch {
	case isRunning && b.replicas > 1:
		return errors.New("--replicas is for a director of its own, without --url")
	case b.replicas < 1 || b.replicas > maxReplicas:
		return fmt.Errorf("%d replicas: there must be 1 to %d", b.replicas, maxReplicas)
	case b.family == nil:
		return fmt.Errorf("unknown scenario %q: there are %s", scenario, strings.Join(scenarioNames(), ", "))
	}
	for i, url := range o.URLs {
		o.URLs[i] = strings.TrimRight(url, "/") // calls add their path
		if err := b.family.checkURL(o.URLs[i], scenario); err != nil {
			return err
		}
	}
	b.setUsualLoad(flags)
	b.setOrchestratorKeys(isRunning)
	checked := *o
	if !isRunning {
		checked.URLs = []string{"http://127.0.0.1"} // known once it runs
	}
	// All numbers of callers are checked before the first run, which takes a while.
	for _, callers := range b.sweep {
		checked.Load.Callers = callers
		if err := checked.Check(); err != nil {
			return err
		}
	}
	return nil
}

// setOrchestratorKeys reads the keys of a director that runs elsewhere, and makes those of one of its own.
func (b *benchmark) setOrchestratorKeys(isRunning bool) {
	if !isRunning {
		b.options.AgentKey, b.options.AdminKey = rand.Text(), rand.Text()
		return
	}
	b.options.AgentKey = b.program.firstSecret("DIRECTOR_ORCHESTRATOR_AGENT_KEYS")
	b.options.AdminKey = b.program.firstSecret("DIRECTOR_ORCHESTRATOR_ADMIN_KEYS")
}

// setUsualLoad sets the usual load of the scenario where flags do not set it.
func (b *benchmark) setUsualLoad(flags *pflag.FlagSet) {
	usual := b.options.Scenario.Usual
	if !flags.Changed("callers") {
		b.sweep = []int{usual.Callers}
	}
	if !flags.Changed("rate") {
		b.options.Load.Rate = usual.Rate
	}
	for _, size := range b.options.Load.Sizes(usual) {
		if size.About != "" && !flags.Changed(size.Name) {
			*size.Value = size.Usual
		}
	}
}

// run measures the director that --url names, or one of its own.
func (b *benchmark) run(ctx context.Context) error {
	if len(b.options.URLs) > 0 {
		return b.onRunning(ctx)
	}
	return b.inLab(ctx)
}

// inLab measures a director of its own with default settings, whatever the environment contains, so that the figures of
// two machines compare.
func (b *benchmark) inLab(ctx context.Context) (err error) {
	startLab, machine, err := b.program.labStarter()
	if err != nil {
		return err
	}
	o := b.family.lab
	o.Replicas = b.replicas
	o.Env = append(slices.Clone(o.Env), "DIRECTOR_OM_REGISTRATION="+b.registrationWindow.String(),
		"DIRECTOR_ORCHESTRATOR_AGENT_KEYS="+b.options.AgentKey, "DIRECTOR_ORCHESTRATOR_ADMIN_KEYS="+b.options.AdminKey)
	l, mint, err := startLab(ctx, o) // sets machine.Postgres
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	ctx, end := l.Living(ctx)
	defer end()
	b.options.URLs, b.options.Meter = lab.Addresses(l.Replicas, b.family.face), l
	b.options.AccessToken, b.options.FleetToken, b.options.OpsToken = mint, l.FleetToken, l.OpsToken
	return b.measure(ctx, *machine)
}

// measure makes one run after another, with every number of callers, and prints them.
func (b *benchmark) measure(ctx context.Context, here machine) error {
	var runs []bench.Result
	for _, callers := range b.sweep {
		b.options.Load.Callers = callers
		if cli.IsTerminal(b.program.stderr) { // phases are for people who wait
			who := plural(callers, "caller")
			b.options.Say = func(phase string) {
				fmt.Fprintf(b.program.stderr, "%s, %s: %s\n", b.options.Scenario.Name, who, phase)
			}
		}
		result, err := bench.Run(ctx, b.options)
		if err != nil {
			return err
		}
		runs = append(runs, result)
	}
	return writeMeasurements(b.program.out, here.withStolenShare(), runs)
}

// onRunning measures a director that runs elsewhere.
func (b *benchmark) onRunning(ctx context.Context) error {
	if b.family.readCredentials != nil {
		if err := b.family.readCredentials(b); err != nil {
			return err
		}
	}
	here, url := machineHere(b.program.isAwake), b.program.variable("DATABASE_URL")
	if url == "" { // the costs of calls stay unknown
		return b.measure(ctx, here)
	}
	database, err := lab.OpenDatabase(ctx, url, b.program.variable("DIRECTOR_POOLER") == "pgbouncer")
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer database.Close()
	b.options.Meter, here.Postgres = database, database.Version()
	return b.measure(ctx, here)
}

// setCredentials sets those of players, game servers and operators of a director that runs elsewhere.
func (b *benchmark) setCredentials() error {
	issuer, err := b.readIssuer()
	b.options.AccessToken = minter(issuer, devlogin.Claims{Issuer: b.program.variable("DIRECTOR_AUTH_ISSUER"),
		Audience: b.program.variable("DIRECTOR_AUTH_AUDIENCE")})
	b.options.FleetToken = b.program.firstSecret("DIRECTOR_FLEET_TOKEN")
	b.options.OpsToken = b.program.operatorToken()
	return err
}

// readIssuer reads the key with which access tokens are signed that the director accepts.
func (b *benchmark) readIssuer() (i devlogin.Issuer, err error) {
	path := b.issuerKey
	if path == "" {
		data := b.program.variable("DIRECTOR_DATA")
		if data == "" {
			if data, err = pglocal.DefaultDir(); err != nil {
				return i, err
			}
		}
		path = filepath.Join(data, "issuer.jwk")
	}
	if i, err = devlogin.Read(path); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: 'director dev' makes it; name its directory in DIRECTOR_DATA, or another key with --issuer-key", err)
	}
	return i, err
}

// firstSecret returns the first secret of a variable that may have several, comma-separated; it may contain "=". Secrets
// come from the director's own environment variables only, so that no list of processes shows them.
func (p *program) firstSecret(variable string) string {
	first, _, _ := strings.Cut(p.variable(variable), ",")
	return first
}

// operatorToken returns the first token of an operator, without the name that it may have.
func (p *program) operatorToken() string {
	first := p.firstSecret("DIRECTOR_OPS_TOKENS")
	if _, secret, found := strings.Cut(first, "="); found {
		if _, isToken := rest.ParseOperatorTokens([]string{first}).Find(secret); isToken {
			return secret
		}
	}
	return first
}

// openMatchToken returns the first token of Open Match's clients, without the service that it may be limited to.
func (p *program) openMatchToken() string {
	first := p.firstSecret("DIRECTOR_OM_TOKENS")
	for _, service := range []string{"frontend", "backend", "query"} {
		if secret, isLimited := strings.CutPrefix(first, service+"="); isLimited {
			return secret
		}
	}
	return first
}
