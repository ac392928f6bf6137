package edgegaptest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// Hooks sets how the webhooks of later deployments are sent.
func (f *Fake) Hooks(mode HookMode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hookMode = mode
}

// hookTimeout is how long the API waits for the answer to a webhook.
const hookTimeout = 10 * time.Second

// announce sends the webhook of a new deployment; in HookEarly and HookOutOfOrder it waits until that is answered.
func (f *Fake) announce(d *deployment) {
	f.mu.Lock()
	// A copy: the webhook of a mode may say what is not true yet.
	mode, url, early := f.hookMode, d.hooks[0], *d
	if d.failed {
		url = d.hooks[1]
	}
	f.mu.Unlock()
	switch mode {
	case HookEarly:
		early.word = "READY"
		f.send(url, early.body(d.started, f.opt.PortsList))
	case HookOutOfOrder:
		early.ended = d.started
		f.send(d.hooks[2], early.body(d.started, f.opt.PortsList))
		f.hookAt(mode, d, url, d.ready)
	default:
		f.hookAt(mode, d, url, d.ready)
	}
}

// hookAt sends a webhook at a time, with what the status is then. It does not wait.
func (f *Fake) hookAt(mode HookMode, d *deployment, url string, at time.Time) {
	// HookNever has no entry, and so sends none.
	times := map[HookMode]int{HookOnce: 1, HookTwice: 2, HookEarly: 1, HookOutOfOrder: 1}[mode]
	if url == "" || times == 0 {
		return
	}
	f.hooks.Go(func() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-f.ctx.Done():
			return
		}
		f.mu.Lock()
		// As of the time when it was due, however late it is sent.
		body := d.body(at, f.opt.PortsList)
		f.mu.Unlock()
		for range times {
			f.send(url, body)
		}
	})
}

func (f *Fake) send(url string, body object) {
	if url == "" {
		return
	}
	text, err := json.Marshal(body)
	if err != nil {
		return
	}
	client := http.Client{Timeout: hookTimeout}
	req, err := http.NewRequestWithContext(f.ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return
	}
	// Sent once, whatever the answer is: the API repeats no webhook.
	if resp, err := client.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}
