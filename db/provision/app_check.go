package provision

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token/netcode"
)

// Bounds of what operators declare.
const (
	maxModes      = 32     // as of a registration
	maxAppEnv     = 64     // variables, without those that the director sets
	maxAppCount   = 10000  // app versions, stored and declared ones
	maxPoolCount  = 1000   // pools, stored and declared ones; and entries of one declaration
	maxPoolSize   = 100000 // servers
	maxCapacity   = 100000 // players of a server
	maxNetworks   = 256
	maxAppTime    = time.Hour // of start_within, register_within, grace
	maxLifetime   = 30 * 24 * time.Hour
	minLifetime   = time.Minute
	maxEndpoint   = 200 // bytes of the format
	maxCPUUnits   = 1 << 20
	maxMemoryMiB  = 1 << 22
	maxEmptyTTL   = 7 * 24 * time.Hour
	maxDrainAhead = 7 * 24 * time.Hour
)

// The forms of names: the texts that they may be.
var (
	appForm      = regexp.MustCompile(`^[A-Za-z0-9._-]([A-Za-z0-9 ._-]{0,62}[A-Za-z0-9._-])?$`)
	modeForm     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	portForm     = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,199}$`)
	launchForm   = regexp.MustCompile(`^[[:graph:]]{1,200}$`)
)

// providerLifetimes are the longest lives of servers at providers that end them.
var providerLifetimes = map[string]time.Duration{"process": maxLifetime, "docker": maxLifetime,
	"edgegap": 24 * time.Hour, "agones": maxLifetime, "manual": maxLifetime}

// PoolProblem is one thing that is wrong with what an operator declares, and what is allowed instead.
type PoolProblem struct {
	Path string // of the value, as in the document: "apps[0].ports[1].name"
	Text string
}

// problems collects what is wrong with the values below a path.
type problems struct {
	foundProblems *[]PoolProblem
	valuePath     string
}

func (p problems) underPath(format string, args ...any) problems {
	return problems{p.foundProblems, p.valuePath + fmt.Sprintf(format, args...)}
}

func (p problems) addf(field, format string, args ...any) {
	*p.foundProblems = append(*p.foundProblems, PoolProblem{p.valuePath + field, fmt.Sprintf(format, args...)})
}

// checkText reports a text that has not the allowed form, which words describe.
func (p problems) checkText(field, value string, allowed *regexp.Regexp, words string) {
	if !allowed.MatchString(value) {
		p.addf(field, "%.80q must be %s", value, words)
	}
}

func (p problems) checkNumber(field string, value, least, most int) {
	if value < least || value > most {
		p.addf(field, "must be %d to %d, not %d", least, most, value)
	}
}

func (p problems) checkDuration(field string, value, least, most time.Duration) {
	if value < least || value > most {
		p.addf(field, "must be %s to %s, not %s", least, most, value)
	}
}

const (
	nameWords = "1 to 64 letters, digits, spaces, dots, hyphens and underscores"
	modeWords = "1 to 64 letters, digits, dots, hyphens and underscores"
)

// withAppDefaults fills the fields whose zero value means a default.
func withAppDefaults(v AppVersion) AppVersion {
	if v.Endpoint == "" {
		v.Endpoint = "{ip}:{port}"
	}
	if v.GamePort == "" && len(v.Ports) == 1 {
		v.GamePort = v.Ports[0].Name
	}
	// comparedFields must find an absent map and an empty one equal.
	if v.Env == nil {
		v.Env = map[string]string{}
	}
	// Clients of bevygap check the certificate of the server by its digest.
	v.DigestRequired = v.DigestRequired || v.Compat == CompatBevygap
	// No document can ask for 0: check demands a second at least.
	v.StartWithin = cmp.Or(v.StartWithin, 3*time.Minute)
	v.RegisterWithin = cmp.Or(v.RegisterWithin, time.Minute)
	v.Grace = cmp.Or(v.Grace, 30*time.Second)
	v.MaxLifetime = cmp.Or(v.MaxLifetime, 24*time.Hour)
	// A quarter of the life at most: a server must not drain as soon as it is ready.
	v.DrainAhead = cmp.Or(v.DrainAhead, min(time.Hour, v.MaxLifetime/4))
	return v
}

// check reports what is wrong with an app version that has its defaults.
func (v *AppVersion) check(p problems) {
	p.checkText("app", v.App, appForm, nameWords)
	p.checkText("version", v.Version, appForm, nameWords)
	p.checkLaunch(v.Launch, v.LaunchVersion)
	v.checkFallback(p)
	v.checkPorts(p)
	v.checkModes(p)
	p.checkNumber("max_players", v.MaxPlayers, 1, maxCapacity)
	// Every server must have room for one full session.
	p.checkNumber("capacity", v.Capacity, max(v.MaxPlayers, 1), maxCapacity)
	if v.MaxSessions != nil {
		p.checkNumber("max_sessions", *v.MaxSessions, 1, maxCapacity)
	}
	p.checkNumber("resources.cpu_units", v.CPUUnits, 0, maxCPUUnits)
	p.checkNumber("resources.memory_mib", v.MemoryMiB, 0, maxMemoryMiB)
	v.checkEnv(p)
	v.checkTimes(p)
	v.checkNetcode(p)
	switch {
	case v.Compat != "" && v.Compat != CompatArbitrium && v.Compat != CompatBevygap:
		p.addf("compat", "%.40q must be %s or %s, or absent", v.Compat, CompatArbitrium, CompatBevygap)
	case v.Compat == CompatBevygap && v.Dialect == "":
		p.addf("netcode.dialect", "is required with compat: %s, whose servers know their players by connect tokens",
			CompatBevygap)
	}
}

// checkLaunch checks what a provider starts.
func (p problems) checkLaunch(launch, version string) {
	p.checkText("launch", launch, launchForm,
		"1 to 200 characters without spaces: a command's name, an image, an application or a fleet")
	if version != "" {
		p.checkText("launch_version", version, launchForm, "at most 200 characters without spaces")
	}
}

// checkFallback checks how servers start where the provider of the version has no room.
func (v *AppVersion) checkFallback(p problems) {
	f := v.Fallback
	if f == nil {
		return
	}
	_, isKnown := providerLifetimes[f.Provider]
	// The provider manual starts nothing, so nothing can fall back to it or from it.
	if !isKnown || f.Provider == v.Provider || f.Provider == providerManual || v.Provider == providerManual {
		p.addf("fallback.provider", "%.40q must be a provider that starts servers, and another one than %q", f.Provider,
			v.Provider)
	}
	p.underPath("fallback.").checkLaunch(f.Launch, f.LaunchVersion)
}

// needsPortNumbers reports whether a provider of the app version must know the ports on which its servers listen. The
// others choose these ports.
func (v *AppVersion) needsPortNumbers() bool {
	needs := func(provider string) bool { return provider == "docker" || provider == "edgegap" }
	return needs(v.Provider) || v.Fallback != nil && needs(v.Fallback.Provider)
}

func (v *AppVersion) checkPorts(p problems) {
	// Servers of the provider manual register with the address that players dial, and need no ports.
	if len(v.Ports) > provider.MaxPorts || len(v.Ports) == 0 && v.Provider != providerManual {
		p.addf("ports", "must be 1 to %d, not %d", provider.MaxPorts, len(v.Ports))
	}
	seen := map[string]bool{}
	for i, port := range v.Ports {
		at := p.underPath("ports[%d].", i)
		at.checkText("name", port.Name, portForm, "1 to 32 lowercase letters, digits and hyphens")
		if port.Protocol != provider.UDP && port.Protocol != provider.TCP {
			at.addf("protocol", "%.20q must be udp or tcp", port.Protocol)
		}
		if seen[port.Name] {
			at.addf("name", "%q occurs twice", port.Name)
		}
		if port.Internal == 0 && v.needsPortNumbers() {
			at.addf("internal", "must be 1 to 65535: the port on which the server listens")
		}
		seen[port.Name] = true
	}
	if len(v.Ports) > 0 && !seen[v.GamePort] {
		p.addf("game_port", "%.40q must be the name of a port", v.GamePort)
	}
	v.checkEndpoint(p)
}

func (v *AppVersion) checkEndpoint(p problems) {
	rest := strings.NewReplacer("{ip}", "", "{port}", "").Replace(v.Endpoint)
	if len(v.Endpoint) > maxEndpoint || strings.ContainsAny(rest, "{} \t\r\n") ||
		!strings.Contains(v.Endpoint, "{ip}") {
		p.addf("endpoint", "%.80q must have {ip} and may have {port}, such as {ip}:{port} or ws://{ip}:{port}/play",
			v.Endpoint)
	}
}

func (v *AppVersion) checkModes(p problems) {
	if len(v.Modes) == 0 || len(v.Modes) > maxModes {
		p.addf("modes", "must be 1 to %d, not %d", maxModes, len(v.Modes))
	}
	checkModes(p, v.Modes)
}

func checkModes(p problems, modes []string) {
	for i, m := range modes {
		at := p.underPath("modes[%d]", i)
		at.checkText("", m, modeForm, modeWords)
		// Of two equal modes, the second one is reported.
		if slices.Contains(modes[:i], m) {
			at.addf("", "%q occurs twice", m)
		}
	}
}

// ownVariables are set by the director, in place of a value that a document would give.
var ownVariables = regexp.MustCompile(`^(DIRECTOR_URL|FLEET_TOKEN|LIGHTYEAR_PRIVATE_KEY|LATTICE_.*)$`)

// natsVariables are set by the director for bevygap's servers.
var natsVariables = []string{"NATS_HOST", "NATS_USER", "NATS_PASSWORD", "NATS_INSECURE"}

// isOwnVariable reports whether the director sets a variable of the servers.
func (v *AppVersion) isOwnVariable(name string) bool {
	return ownVariables.MatchString(name) || v.Compat == CompatBevygap && slices.Contains(natsVariables, name)
}

func (v *AppVersion) checkEnv(p problems) {
	if len(v.Env) > maxAppEnv {
		p.addf("env", "has %d variables, at most %d are allowed", len(v.Env), maxAppEnv)
	}
	// Sorted, so that the same document gets the same problems in the same order.
	for _, name := range slices.Sorted(maps.Keys(v.Env)) {
		value := v.Env[name]
		switch {
		case !variableForm.MatchString(name):
			p.addf("env", "%.40q is no name of a variable", name)
		case v.isOwnVariable(name):
			p.addf("env."+name, "is set by the director")
		case len(value) > provider.MaxValueBytes:
			p.addf("env."+name, "has %d bytes, at most %d are allowed", len(value), provider.MaxValueBytes)
		case strings.Contains(value, "\x00"):
			p.addf("env."+name, "has a NUL character")
		}
	}
}

// checkTimes checks the times of a server's life against each other and against what its provider allows.
func (v *AppVersion) checkTimes(p problems) {
	p.checkDuration("start_within", v.StartWithin, time.Second, maxAppTime)
	p.checkDuration("register_within", v.RegisterWithin, time.Second, maxAppTime)
	p.checkDuration("grace", v.Grace, time.Second, maxAppTime)
	longest, isKnown := providerLifetimes[v.Provider]
	if !isKnown {
		p.addf("provider", "%.40q must be one of %s", v.Provider,
			strings.Join(slices.Sorted(maps.Keys(providerLifetimes)), ", "))
		// Only one problem is reported: max_lifetime is judged by the widest bound.
		longest = maxLifetime
	}
	p.checkDuration("max_lifetime", v.MaxLifetime, minLifetime, longest)
	p.checkDuration("drain_ahead", v.DrainAhead, time.Second, maxDrainAhead)
	// Otherwise a server would drain, or end, before it could take a player.
	if v.DrainAhead+v.Grace >= v.MaxLifetime {
		p.addf("drain_ahead", "%s and grace %s must be shorter together than max_lifetime %s", v.DrainAhead, v.Grace,
			v.MaxLifetime)
	}
}

// checkNetcode checks what connect tokens need.
func (v *AppVersion) checkNetcode(p problems) {
	if v.Dialect == "" {
		if v.ProtocolID != 0 {
			p.addf("netcode.dialect", "must be one of %s", dialectWords())
		}
		return
	}
	if _, err := netcode.ParseDialect(string(v.Dialect)); err != nil {
		p.addf("netcode.dialect", "%.40q must be one of %s", v.Dialect, dialectWords())
	}
	if len(v.Ports) == 0 {
		p.addf("ports", "must have the port that connect tokens name")
	}
}

// dialectWords returns the names of all dialects.
func dialectWords() string {
	all := make([]string, 0, 3)
	for _, d := range netcode.Dialects() {
		all = append(all, string(d))
	}
	return strings.Join(all, ", ")
}
