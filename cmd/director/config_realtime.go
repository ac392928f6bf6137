package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/token"
)

// realtimeSettings returns the settings of the realtime lobby. They can also be set by the names of Nexis.
func (c *Config) realtimeSettings() []setting {
	return inSection(sectionRealtime, byServers, []setting{
		{flag: "realtime-addr", start: true, value: addressValue(&c.Realtime.Addr),
			help: "The address for clients of the realtime lobby, such as :4000. Not set: it is not served, except by " +
				"`director dev` at 127.0.0.1:4000"},
		{flag: "realtime-control-addr", start: true, value: addressValue(&c.Projects.Addr),
			help: "The address of the control API for projects, keys and tokens, such as :3000. Keep it private. Not " +
				"set: it is not served, except by `director dev` at 127.0.0.1:3000"},
		{flag: "realtime-region", commands: byServers | byProjects | byApply, value: gameRegionValue(&c.Realtime.Region),
			help: "The region of new projects, and of clients whose project does not exist. A project keeps its region"},
		{flag: "realtime-auth", aliases: []string{"NEXIS_AUTH_MODE"},
			value: choiceValue(&c.Realtime.AuthMode, realtime.AuthRequired, realtime.AuthOptional,
				realtime.AuthDisabled),
			help: "Which clients need a token. optional: a client may be anonymous, but a token that it presents must " +
				"be valid; disabled: tokens are not verified"},
		{flag: "realtime-master-secret", aliases: []string{"NEXIS_MASTER_SECRET"},
			secret: true, fleetWide: true, start: true, commands: byServers | byProjects,
			value: signingSecretValue(&c.Realtime.MasterSecret),
			help: "The secret from which the secrets of projects are derived, which sign the tokens of clients. " +
				"Required with either address, unless only the secrets of keys sign or no client needs a token. " +
				"`openssl rand -hex 24` makes one"},
		{flag: "realtime-internal-token", aliases: []string{"NEXIS_INTERNAL_TOKEN"},
			secret: true, start: true,
			value: secretsValue(&c.Projects.Options.Tokens),
			help: "The secrets that callers of the control API send as `x-nexis-internal-token`; several during a " +
				"rotation. Required with its address"},
		{flag: "realtime-project-secrets", aliases: []string{"NEXIS_PROJECT_SECRETS"},
			secret: true, fleetWide: true, commands: byServers | byProjects,
			value: projectSecretsValue(&c.Realtime.ProjectSecrets),
			help:  "The secrets of projects that have another one than the derived one"},
		{flag: "realtime-require-key", upstream: translatedVariable("NEXIS_REQUIRE_KEY_ID", booleanOfNexis),
			value: booleanValue(&c.Realtime.RequireKey),
			help:  "Refuse tokens that name no key. Without a key a token cannot be revoked"},
		{flag: "realtime-key-secrets-only", fleetWide: true, commands: byServers | byProjects,
			value: booleanValue(&c.Realtime.KeySecretsOnly),
			help: "Only the secrets of keys sign tokens, so that a revoked key takes its secret with it. Servers that " +
				"mint tokens with the secret of a project, as with Nexis, then get none that is accepted"},
		{flag: "realtime-session-ttl", aliases: []string{"NEXIS_SESSION_TTL_SECONDS"},
			value: secondsValue(&c.Realtime.SessionTTL, 5*time.Second, day),
			help:  "How long a client that lost its connection keeps its session, rooms and place in the queue"},
		{flag: "realtime-ticket-ttl", aliases: []string{"NEXIS_MATCHMAKING_TICKET_TTL_SECONDS"},
			value: secondsValue(&c.Realtime.TicketTTL, 0, day),
			help: "How long a client waits for a match before it gets `matchmaking.expired`. 0: for as long as its " +
				"session lasts"},
		{flag: "realtime-rooms", aliases: []string{"NEXIS_ROOM_TYPE_PLUGINS"},
			fleetWide: true, commands: byLoops | byRooms,
			value: roomTypesValue(&c.RoomTypes),
			help: "Further room types: `{\"town\": {\"logic\": \"chat\", \"max_members\": 100, \"grace\": \"60s\"}, " +
				"\"duel\": {\"logic\": \"match\", \"profile\": \"ranked-1v1\"}}`. A value without logic is the first " +
				"state of a chat, as with Nexis"},
		{flag: "realtime-conformance", fleetWide: true, commands: byLoops | byRooms,
			value: booleanValue(&c.Realtime.Conformance),
			help: "Also serve the room types of Nexis' scripts (echo_room, counter_room, counter_plugin_room), and let " +
				"`echo` and `position.update` reach members. `director dev` does"},
		{flag: "realtime-origins", value: listValue(&c.Realtime.AllowedOrigins, "origins such as https://play.example"),
			help: "The origins of web pages that may connect. Not set: any, because clients authenticate with tokens " +
				"and not with cookies"},
		{flag: "realtime-control-origins", aliases: []string{"NEXIS_ALLOWED_ORIGINS"},
			value: listValue(&c.Projects.Options.CORSOrigins, "origins such as https://ops.example, or *"),
			help:  "The origins of web pages that may call the control API from a browser. Not set: none"},
		{flag: "realtime-text-hook", secret: true, value: hookURLValue(&c.Realtime.TextHook),
			help: "The URL of a service that checks what players say, such as https://user:password@filter.example/check. " +
				"It gets each message of the type `say`, and answers `{\"allow\": true}` within a second. Not set: " +
				"nothing is checked"},
		{flag: "realtime-text-hook-fail-open", value: booleanValue(&c.Realtime.TextHookFailOpen),
			help: "Let through what the text hook could not check. Otherwise it is refused while the hook does not answer"},
		{flag: "realtime-max-connections", value: integerValue(&c.Realtime.MaxConnections, 1, 1_000_000),
			help: "The number of clients connected to a replica; further ones get 503 and retry"},
		{flag: "realtime-resume-by-key", value: booleanValue(&c.Realtime.ResumeByKey),
			help: "Any token of the same key resumes a session, as with Nexis. Otherwise only the same token or the " +
				"same `sub` does"},
	})
}

// secondsValue is a duration in which a number without a unit is seconds, as in the variables of Nexis.
func secondsValue(p *time.Duration, least, most time.Duration) value {
	v := durationValue(p, least, most)
	v.allowedText += "; a number without a unit is seconds"
	v.setText = func(text string) (err error) {
		// Nexis' variables end in _SECONDS and have no unit.
		if _, notNumber := strconv.ParseUint(text, 10, 32); notNumber == nil {
			text += "s"
		}
		*p, err = time.ParseDuration(text)
		return v.requireAllowed(err == nil && least <= *p && *p <= most)
	}
	return v
}

// hookURLValue is the URL of a hook, masked as a whole, since it may have a password.
func hookURLValue(p *string) value {
	v := checkedText(p, "secret", "a URL of http or https", isWebURL)
	v.showText = hiddenTextValue(p).showText
	return v
}

// roomTypesValue is the JSON of room types, which setText parses only to refuse mistakes; (*Config).roomTypes parses it
// for use, with the built-in types of the settings.
func roomTypesValue(p *string) value {
	v := textValue(p, "a JSON object of room types")
	v.setText = func(text string) error {
		*p = text
		// Without the types of Nexis' scripts: whether there are any is a setting that is read after this one.
		if _, err := lobby.NewTypes(false, []byte(text)); err != nil {
			return fmt.Errorf("it must be %s: %w", v.allowedText, err)
		}
		return nil
	}
	return v
}

// booleanOfNexis adds the spellings of Nexis to ours.
func booleanOfNexis(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on":
		return "true"
	case "no", "off":
		return "false"
	}
	// Anything else stays as it is: booleanValue accepts or refuses it.
	return text
}

// realtimeOptions returns nil if the realtime lobby is not served.
func (c *Config) realtimeOptions(sealer *token.Sealer) (*realtime.Options, error) {
	if c.Realtime.Addr == "" {
		return nil, nil //nolint:nilnil // nil is a value of server.Options
	}
	types, err := c.roomTypes()
	if err != nil {
		return nil, err
	}
	o := c.Realtime
	o.RoomTypes, o.Sealer = types, sealer
	return &o, nil
}

// roomTypes returns the types of rooms that this process knows.
func (c *Config) roomTypes() (*lobby.Types, error) {
	types, err := lobby.NewTypes(c.Realtime.Conformance, []byte(c.RoomTypes))
	if err != nil {
		return nil, fmt.Errorf("DIRECTOR_REALTIME_ROOMS: %w", err)
	}
	return types, nil
}

// projectSecrets returns what signs the tokens of projects.
func (c *Config) projectSecrets(sealer *token.Sealer) token.ProjectSecrets {
	return token.ProjectSecrets{Master: c.Realtime.MasterSecret, Projects: c.Realtime.ProjectSecrets, Sealer: sealer,
		KeysOnly: c.Realtime.KeySecretsOnly}
}

// projectsOptions returns nil if the control API is not served.
func (c *Config) projectsOptions(sealer *token.Sealer) *server.Projects {
	if c.Projects.Addr == "" {
		return nil
	}
	o := c.Projects
	o.Options.Region, o.Options.Secrets = c.Realtime.Region, c.projectSecrets(sealer)
	return &o
}

// checkRealtime refuses settings with which anybody could connect or make tokens by mistake. Its errors never contain a
// secret.
func (c *Config) checkRealtime() error {
	// The control API mints tokens, also where this replica does not verify any.
	verifies := c.Realtime.Addr != "" && c.Realtime.AuthMode != realtime.AuthDisabled
	noSecret := (verifies || c.Projects.Addr != "") && c.Realtime.MasterSecret == "" && !c.Realtime.KeySecretsOnly
	return unmetNeeds(
		need{noSecret, "tokens of the realtime lobby have no secret: set DIRECTOR_REALTIME_MASTER_SECRET ('openssl rand " +
			"-hex 24' makes one), or let only the secrets of keys sign with --realtime-key-secrets-only"},
		need{c.Projects.Addr != "" && len(c.Projects.Options.Tokens) == 0, "the control API of the realtime lobby has no " +
			"token: set DIRECTOR_REALTIME_INTERNAL_TOKEN ('openssl rand -hex 24' makes one)"},
		need{c.Realtime.MasterSecret != "" && slices.Contains(c.Projects.Options.Tokens, c.Realtime.MasterSecret),
			"DIRECTOR_REALTIME_MASTER_SECRET is also in DIRECTOR_REALTIME_INTERNAL_TOKEN: callers of the control API must " +
				"not know what signs tokens"},
	)
}
