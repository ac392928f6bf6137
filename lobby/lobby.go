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
	// defaultCountdown is the length of a countdown in seconds, where the message names none.
	defaultCountdown = 5
)

// lobbyLogic is a group whose members choose teams and become ready for a match.
type lobbyLogic struct {
	group

	defaultQueue Queue // what the members queue for if the owner names nothing else
}

func (l lobbyLogic) OpenState(o Opening) (State, error) {
	state, err := l.group.OpenState(o)
	if err != nil {
		return nil, err
	}
	settings := map[string]json.RawMessage{}
	if raw := o.Options.fieldsOf().rawField("settings"); raw != nil {
		if settings, err = readSettings(raw); err != nil {
			return nil, err
		}
	}
	state["settings"] = encodeJSON(settings)
	return state, nil
}

// readSettings reads the settings of a new lobby. Their keys have the bounds of changeSetting: with others, nobody could
// change or delete them.
func readSettings(raw json.RawMessage) (settings map[string]json.RawMessage, err error) {
	cleaned, err := cleanJSON("options.settings", raw)
	if err != nil {
		return nil, err
	}
	// nil: a number beyond a double, such as 1e400, is cleaned to null.
	if json.Unmarshal(cleaned, &settings) != nil || settings == nil || len(settings) > maxSettings {
		return nil, Invalid("options.settings", "must be an object of at most %d settings", maxSettings)
	}
	for key := range settings {
		if key == "" || !isShortText(key, maxSettingKey) {
			return nil, Invalid("options.settings",
				"must have keys of 1 to %d bytes without control characters", maxSettingKey)
		}
	}
	return settings, nil
}

func (l lobbyLogic) OnJoin(r *Room, m Member, o Options) error {
	// A pointer to false: the member is not ready. With nil, as in a party, it would have no readiness at all.
	return l.addCard(r, m, o, card{Ready: new(bool)})
}

func (l lobbyLogic) OnMessage(r *Room, m Member, msg Message) error {
	f, err := l.fieldsOfMessage(msg)
	if err != nil {
		return err
	}
	switch msg.Type {
	case "ready":
		return setReady(r, m, f)
	case "team":
		return setTeam(r, m, f)
	case "set":
		return byOwner(r, m, f, changeSetting)
	case "countdown":
		return byOwner(r, m, f, l.beginCountdown)
	case "start":
		return byOwner(r, m, f, l.startMatch)
	}
	return l.handleCommon(r, m, msg, f)
}

// setReady sets whether a member is ready. A change takes the members out of the queue.
func setReady(r *Room, m Member, f fields) error {
	ready, err := f.flagField("ready", true)
	if err != nil {
		return err
	}
	c := r.cardOf(m.Session)
	// A client that repeats a message whose answer was lost must not take the members out of the queue.
	if c.Ready != nil && *c.Ready == ready {
		return nil
	}
	c.Ready = &ready
	r.setCard(m.Session, c)
	dequeueAndReopen(r)
	return nil
}

// setTeam sets a member's team, a string or a whole number; null removes the member from its team.
func setTeam(r *Room, m Member, f fields) error {
	c, raw := r.cardOf(m.Session), f.rawField("team")
	if raw != nil && !validTeam(raw) {
		return Invalid("team", "must be a string of at most %d bytes, a whole number or null", maxTeam)
	}
	c.Team = raw
	r.setCard(m.Session, c)
	return nil
}

// validTeam reports whether a team is a short string, or a whole number of at most maxSafe, which every client reads
// alike.
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

// changeSetting changes a setting of the lobby; null deletes it.
func changeSetting(r *Room, _ Member, f fields) error {
	key, err := f.requiredText("key", maxSettingKey)
	if err != nil {
		return err
	}
	var settings map[string]json.RawMessage
	_ = json.Unmarshal(r.State["settings"], &settings)
	if settings == nil { // rooms made before settings of null were refused
		settings = map[string]json.RawMessage{}
	}
	value := f.rawField("value")
	if value == nil {
		delete(settings, key)
	} else {
		settings[key] = value
	}
	// After the change, so that a full lobby can still change and delete what it has.
	if len(settings) > maxSettings {
		return Invalid("key", "would be one of more than %d settings", maxSettings)
	}
	r.SetKey("settings", settings)
	return nil
}

// beginCountdown shows the members that the owner is about to start. A change of readiness or of membership ends it.
func (l lobbyLogic) beginCountdown(r *Room, _ Member, f fields) error {
	seconds, err := f.wholeNumber("seconds", maxCountdown, defaultCountdown)
	if err != nil {
		return err
	}
	// The phase "countdown" would hide that they are queued, and nothing would take them out of the queue any more.
	if r.textOf("phase") == phaseQueued {
		return Invalid("type", "must not be countdown while the members are queued")
	}
	if err := checkAllReady(r); err != nil {
		return err
	}
	r.SetKey("phase", phaseCountdown)
	r.SetKey("countdown", seconds)
	return nil
}

// startMatch queues the members. It does not look at a countdown, which clients only show.
func (l lobbyLogic) startMatch(r *Room, _ Member, f fields) error {
	q, err := queueOf(r, f, l.defaultQueue)
	if err != nil {
		return err
	}
	if err := checkAllReady(r); err != nil {
		return err
	}
	return l.enqueueMembers(r, q)
}

func (l lobbyLogic) checkEnqueue(r *Room, q Queue) error {
	if err := checkAllReady(r); err != nil {
		return err
	}
	return l.group.checkEnqueue(r, q)
}

// checkAllReady returns an error while a member is not ready or not connected.
func checkAllReady(r *Room) error {
	for _, m := range r.Members {
		if c := r.cardOf(m.Session); m.IsAway || c.Ready == nil || !*c.Ready {
			return Invalid("members", "must all be ready and connected")
		}
	}
	return nil
}

// resetAfterMatch makes all members not ready: each one decides anew about the next match.
func (lobbyLogic) resetAfterMatch(r *Room) {
	for _, m := range r.Members {
		c := r.cardOf(m.Session)
		c.Ready = new(bool)
		r.setCard(m.Session, c)
	}
}
