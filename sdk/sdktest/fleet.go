package sdktest

import (
	"net/http"
	"time"

	"github.com/google/uuid"
)

// Instance is the director's view of a registered game server.
type Instance struct {
	ID, Endpoint string
	Load         float64
	Available    int
	Draining     bool
}

// Instances returns the registered game servers by id.
func (d *Director) Instances() map[string]Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]Instance{}
	for id, i := range d.instances {
		all[id] = Instance{ID: id, Endpoint: i.registration.Endpoint, Load: i.registration.Load,
			Available: d.freeSeats(i), Draining: i.isDraining}
	}
	return all
}

// Expire ends the lease of an instance: its sessions close, and its next call gets a 404.
func (d *Director) Expire(instanceID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endInstance(instanceID)
	d.wakeWaiting()
}

// Unwant makes the director want the server of a deployment to end, which its next heartbeat says. It does nothing for
// an instance that is not registered.
func (d *Director) Unwant(instanceID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.instances[instanceID]; i != nil {
		i.isUnwanted = true
	}
}

// EndDeployment ends the deployment of a server: its lease ends, and it may not register again.
func (d *Director) EndDeployment(instanceID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endedDeployments[instanceID] = true
	d.endInstance(instanceID)
	d.wakeWaiting()
}

// statusOf is the answer for an instance. Servers that register without an endpoint are those of deployments, which are
// ready at once.
func (d *Director) statusOf(i *instance, word string) map[string]any {
	answer := map[string]any{"instance_id": i.registration.InstanceID, "status": word, "available": d.freeSeats(i)}
	if i.isDeployed {
		answer["endpoint"], answer["desired"] = i.registration.Endpoint, "running"
	}
	if i.isUnwanted {
		answer["desired"] = "stopped"
	}
	return answer
}

func (d *Director) endInstance(instanceID string) {
	delete(d.instances, instanceID)
	for _, s := range d.sessions {
		if s.instance == instanceID {
			s.closeSeats()
		}
	}
}

func (d *Director) freeSeats(i *instance) int {
	free := i.registration.Capacity
	for _, s := range d.sessions {
		if s.instance == i.registration.InstanceID && !s.isClosed {
			free -= s.maxPlayers
		}
	}
	return max(0, free)
}

func (d *Director) fleetHandler(handle func(*http.Request) (any, *problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !d.acceptsToken(r) {
			newProblem(http.StatusUnauthorized, "unauthorized", "X-Fleet-Token is missing or wrong").writeTo(w)
			return
		}
		body, p := handle(r)
		switch {
		case p != nil:
			p.writeTo(w)
		case body == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			writeJSON(w, http.StatusOK, "application/json", body)
		}
	}
}

// acceptsToken reports whether a call of a game server has a credential that is good for the route.
func (d *Director) acceptsToken(r *http.Request) bool {
	got := r.Header.Get("X-Fleet-Token")
	if d.opts.Enrolment != "" && got == d.opts.Enrolment {
		return r.URL.Path == "/fleet/register"
	}
	return d.credentials[got] != "" || got == d.opts.FleetToken || d.opts.FleetToken == "" && d.opts.Enrolment == ""
}

// RevokeServer revokes the credential that a game server got by the enrolment, and ends its lease.
func (d *Director) RevokeServer(instanceID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropCredentials(instanceID)
	d.endInstance(instanceID)
	d.wakeWaiting()
}

// ExpireCredential makes the credential of a game server invalid, which keeps its lease.
func (d *Director) ExpireCredential(instanceID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropCredentials(instanceID)
}

// RenewCredential gives a game server another credential with its next heartbeat. The present one stays valid.
func (d *Director) RenewCredential(instanceID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.instances[instanceID]; i != nil {
		i.isRenewed = true
	}
}

func (d *Director) dropCredentials(instanceID string) {
	for secret, id := range d.credentials {
		if id == instanceID {
			delete(d.credentials, secret)
		}
	}
}

// addCredential adds a new credential to an answer.
func (d *Director) addCredential(answer map[string]any, i *instance) {
	secret := "li1.test." + uuid.NewString()
	d.credentials[secret] = i.registration.InstanceID
	answer["credential"] = map[string]any{"token": secret, "expires_at": time.Now().Add(24 * time.Hour).UTC()}
}

// registerInstance keeps the incarnation if boot id and endpoint are the same. Otherwise it ends the previous
// incarnation.
func (d *Director) registerInstance(r *http.Request) (any, *problem) {
	i := &instance{incarnation: uuid.NewString()}
	if p := readBody(r, &i.registration); p != nil {
		return nil, p
	}
	old := d.instances[i.registration.InstanceID]
	same := old != nil && old.registration.BootID == i.registration.BootID &&
		old.registration.Endpoint == i.registration.Endpoint
	if i.registration.Endpoint == "" { // the server of a deployment: the director knows it from the provider
		i.registration.Endpoint, i.isDeployed = i.registration.InstanceID+".deployed:7777", true
		same = old != nil && old.registration.BootID == i.registration.BootID
	}
	if d.endedDeployments[i.registration.InstanceID] {
		return nil, newProblem(http.StatusGone, "deployment_over", "%s is over", i.registration.InstanceID)
	}
	if p := d.checkFence(i, same); p != nil {
		return nil, p
	}
	if same {
		i.incarnation = old.incarnation
	} else {
		d.endInstance(i.registration.InstanceID)
	}
	d.instances[i.registration.InstanceID], d.latest[i.registration.InstanceID] = i, i
	answer := d.statusOf(i, "registered")
	answer["incarnation"] = i.incarnation
	if got := r.Header.Get("X-Fleet-Token"); d.credentials[got] != "" ||
		d.opts.Enrolment != "" && got == d.opts.Enrolment {
		d.addCredential(answer, i)
	}
	return answer, nil
}

// checkFence refuses a registration if another one has replaced the incarnation that it names.
func (d *Director) checkFence(i *instance, same bool) *problem {
	latest := d.latest[i.registration.InstanceID]
	switch {
	case latest == nil || same || i.registration.Replaces == "" || i.registration.Replaces == latest.incarnation:
		return nil
	case i.registration.Replaces == "none" || i.registration.BootID == latest.registration.BootID:
		p := newProblem(http.StatusConflict, "instance_taken", "%s is registered already", i.registration.InstanceID)
		p.incarnation = latest.incarnation
		return p
	}
	return newProblem(http.StatusConflict, "superseded", "a newer incarnation of %s exists", i.registration.InstanceID)
}

// instanceRef names the instance that makes the call.
type instanceRef struct {
	InstanceID  string   `json:"instance_id"`
	Incarnation string   `json:"incarnation"`
	Load        *float64 `json:"load"`
}

func (d *Director) findInstance(ref instanceRef) (*instance, *problem) {
	i := d.instances[ref.InstanceID]
	switch {
	case i == nil:
		return nil, newProblem(http.StatusNotFound, "instance_unknown", "%s is not registered", ref.InstanceID)
	case ref.Incarnation != "" && ref.Incarnation != i.incarnation:
		return nil, newProblem(http.StatusConflict, "superseded", "a newer incarnation of %s exists", ref.InstanceID)
	}
	return i, nil
}

func (d *Director) takeHeartbeat(r *http.Request) (any, *problem) {
	var ref instanceRef
	i, p := d.callingInstance(r, &ref, &ref)
	if p != nil {
		return nil, p
	}
	if ref.Load != nil {
		i.registration.Load = *ref.Load
	}
	answer := d.statusOf(i, "alive")
	if i.isRenewed {
		i.isRenewed = false
		d.addCredential(answer, i)
	}
	return answer, nil
}

func (d *Director) callingInstance(r *http.Request, body any, ref *instanceRef) (*instance, *problem) {
	if p := readBody(r, body); p != nil {
		return nil, p
	}
	return d.findInstance(*ref)
}

func (d *Director) deregisterInstance(r *http.Request) (any, *problem) {
	var ref instanceRef
	i, p := d.callingInstance(r, &ref, &ref)
	if p == nil {
		d.endInstance(i.registration.InstanceID)
	}
	return nil, p
}

func (d *Director) drainInstance(r *http.Request) (any, *problem) {
	var req struct {
		instanceRef
		Drain bool `json:"drain"`
	}
	i, p := d.callingInstance(r, &req, &req.instanceRef)
	if p != nil {
		return nil, p
	}
	i.isDraining = req.Drain
	status := map[bool]string{true: "draining", false: "ready"}[req.Drain]
	return map[string]any{"instance_id": i.registration.InstanceID, "status": status, "available": d.freeSeats(i)}, nil
}
