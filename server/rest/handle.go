package rest

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/gin-gonic/gin"
)

// None means "no body": as Req no body is read, as Res none is written (for 204 answers).
type None struct{}

// In is one request, with its body decoded and validated. It is valid until the handler returns.
type In[Req any] struct {
	Body Req
	c    *gin.Context
}

// Param returns the path parameter of that name, unescaped.
func (in In[Req]) Param(name string) string { return in.c.Param(name) }

// Query returns the first query value of that name, "" when there is none.
func (in In[Req]) Query(name string) string { return in.c.Query(name) }

// Queries returns all query values of that name.
func (in In[Req]) Queries(name string) []string { return in.c.QueryArray(name) }

// Header returns the first request header of that name, "" when there is none.
func (in In[Req]) Header(name string) string { return in.c.GetHeader(name) }

// Headers returns all request headers of that name.
func (in In[Req]) Headers(name string) []string { return in.c.Request.Header.Values(name) }

// ClientAddr returns the address of the client, which trusted proxies may state; the zero value when it is not known.
func (in In[Req]) ClientAddr() netip.Addr {
	addr, _ := netip.ParseAddr(in.c.ClientIP())
	return addr
}

// Validator is implemented by request types, on the pointer or the value. [Handle] calls Validate before the handler.
type Validator interface {
	Validate(c *Check)
}

// Answerer is implemented by results that write themselves. [Handle] calls Answer instead of writing JSON.
type Answerer interface {
	Answer(w http.ResponseWriter, r *http.Request)
}

// Handle makes a gin handler of a typed function. It decodes the JSON body into Req, validates it if *Req is a
// [Validator], and calls fn. It answers with the result as JSON and the given status, or that of its method Status, or
// with the error by [Fail]. The context is that of the request (with the caller, the request id and the deadline) and
// not gin's, which is reused, so batches may keep it after the call.
func Handle[Req, Res any](status int, fn func(ctx context.Context, in In[Req]) (Res, error)) gin.HandlerFunc {
	_, noBody := any(*new(Req)).(None)
	_, noAnswer := any(*new(Res)).(None)
	return func(c *gin.Context) {
		in := In[Req]{c: c}
		if !noBody {
			if err := bindRequest(c, &in.Body); err != nil {
				Fail(c, err)
				return
			}
		}
		res, err := fn(c.Request.Context(), in)
		switch {
		case err != nil:
			Fail(c, err)
		case noAnswer:
			c.Status(status)
			c.Writer.WriteHeaderNow()
		default:
			writeAnswer(c, statusOf(res, status), &res)
		}
	}
}

// statusOf returns the status that a result has of its own, else the route's.
func statusOf(res any, status int) int {
	if own, ok := res.(interface{ Status() int }); ok {
		return own.Status()
	}
	return status
}

func bindRequest(c *gin.Context, body any) error {
	if err := decodeBody(c.Request, body); err != nil {
		return err
	}
	v, ok := body.(Validator)
	if !ok {
		return nil
	}
	var check Check
	v.Validate(&check)
	return check.Err()
}

func writeAnswer[Res any](c *gin.Context, status int, res *Res) {
	if own, ok := any(*res).(Answerer); ok {
		own.Answer(c.Writer, c.Request)
		return
	}
	if err := writeJSON(c.Writer, status, typeJSON, res); err != nil {
		Fail(c, err)
	}
}
