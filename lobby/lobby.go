package lobby

import (
	"encoding/json"
	"math"
)

const (
	maxSettings   = 64
	maxSettingKey = 64 // bytes
	maxTeam       = 64 // bytes
	maxCountdown  = 60 // seconds
)

// lobby is a group whose members choose teams and become ready for a match.
type lobby struct {
	group

	queue Queue // for which it starts, if the owner names nothing
}

func (l lobby) Open(o Opening) (State, error) {
	state, err := l.group.Open(o)
	if err != nil {
		return nil, err
	}
	settings := map[string]json.RawMessage{}
	if raw := o.Options.fields().raw("settings"); raw != nil {
		cleaned, err := clean("options.settings", raw)
		if err != nil {
			return nil, err
		}
		// A number beyond a double, as 1e400, is cleaned to null.
		if json.Unmarshal(cleaned, &settings) != nil || settings == nil || len(settings) > maxSettings {
			return nil, Invalid("options.settings", "must be an object of at most %d settings", maxSettings)
		}
	}
	state["settings"] = encode(settings)
	return state, nil
}

func (l lobby) Join(r *Room, m Member, o Options) error {
	return l.join(r, m, o, card{Ready: new(bool)})
}

func (l lobby) Message(r *Room, m Member, msg Message) error {
	f, err := l.fieldsOfMessage(msg)
	if err != nil {
		return err
	}
	switch msg.Type {
	case "ready":
		return ready(r, m, f)
	case "team":
		return team(r, m, f)
	case "set":
		return byOwner(r, m, f, setting)
	case "countdown":
		return byOwner(r, m, f, l.countdown)
	case "start":
		return byOwner(r, m, f, l.start)
	}
	return l.message(r, m, msg, f)
}

// ready notes whether a member is ready. A change takes the members out of the queue.
func ready(r *Room, m Member, f fields) error {
	is, err := f.flag("ready", true)
	if err != nil {
		return err
	}
	c := r.card(m.Session)
	if c.Ready != nil && *c.Ready == is {
		return nil
	}
	c.Ready = &is
	r.setCard(m.Session, c)
	takeBack(r)
	return nil
}

// team notes a member's team, a string or a whole number; null leaves it.
func team(r *Room, m Member, f fields) error {
	c, raw := r.card(m.Session), f.raw("team")
	if raw != nil && !validTeam(raw) {
		return Invalid("team", "must be a string of at most %d bytes, a whole number or null", maxTeam)
	}
	c.Team = raw
	r.setCard(m.Session, c)
	return nil
}

func validTeam(raw json.RawMessage) bool {
	var value any
	_ = json.Unmarshal(raw, &value)
	switch v := value.(type) {
	case string:
		return len(v) <= maxTeam
	case float64:
		return v == math.Trunc(v) && math.Abs(v) <= maxSafe
	}
	return false
}

// setting changes a setting of the lobby; null deletes it.
func setting(r *Room, _ Member, f fields) error {
	key, err := f.required("key", maxSettingKey)
	if err != nil {
		return err
	}
	var settings map[string]json.RawMessage
	_ = json.Unmarshal(r.State["settings"], &settings)
	if settings == nil { // rooms made before settings of null were refused
		settings = map[string]json.RawMessage{}
	}
	value := f.raw("value")
	if value == nil {
		delete(settings, key)
	} else {
		settings[key] = value
	}
	if len(settings) > maxSettings {
		return Invalid("key", "would be one of more than %d settings", maxSettings)
	}
	r.Set("settings", settings)
	return nil
}

// countdown shows the members that the owner is about to start. A change of readiness or of membership ends it.
func (l lobby) countdown(r *Room, _ Member, f fields) error {
	seconds, err := f.whole("seconds", maxCountdown, 5)
	if err != nil {
		return err
	}
	if r.text("phase") == phaseQueued {
		return Invalid("type", "must not be countdown while the members are queued")
	}
	if err := allReady(r); err != nil {
		return err
	}
	r.Set("phase", phaseCountdown)
	r.Set("countdown", seconds)
	return nil
}

func (l lobby) start(r *Room, _ Member, f fields) error {
	q, err := queueOf(r, f, l.queue)
	if err != nil {
		return err
	}
	if err := allReady(r); err != nil {
		return err
	}
	return l.enqueue(r, q)
}

func (l lobby) enqueues(r *Room, q Queue) error {
	if err := allReady(r); err != nil {
		return err
	}
	return l.ready(r, q)
}

func allReady(r *Room) error {
	for _, m := range r.Members {
		if c := r.card(m.Session); m.Away || c.Ready == nil || !*c.Ready {
			return Invalid("members", "must all be ready and connected")
		}
	}
	return nil
}

// matched makes all members not ready, so that the next match begins with their readiness.
func (lobby) matched(r *Room) {
	for _, m := range r.Members {
		c := r.card(m.Session)
		c.Ready = new(bool)
		r.setCard(m.Session, c)
	}
}
