package rest

import (
	"context"

	"github.com/gin-gonic/gin"
)

// None stands for "no body": as Req nothing is read, as Res nothing is written (for 204 answers).
type None struct{}

// In is one request after its body was decoded and validated. It is only good until the handler returns.
type In[Req any] struct {
	Body Req
	c    *gin.Context
}

// Param is the path parameter of that name, unescaped.
func (in In[Req]) Param(name string) string { return in.c.Param(name) }

// Query is the first query value of that name, "" when there is none.
func (in In[Req]) Query(name string) string { return in.c.Query(name) }

// Header is the first request header of that name, "" when there is none.
func (in In[Req]) Header(name string) string { return in.c.GetHeader(name) }

// Validator is what a request type implements, on its pointer or its value, to have its fields checked before the
// handler sees them.
type Validator interface {
	Validate(c *Check)
}

// Handle makes a gin handler of a typed function: the JSON body is decoded into Req and validated if *Req is a
// [Validator], the function is called, its result answers as JSON with that status, its error by [Fail]. The context is
// the request's own (with the caller, the request id and the deadline), not gin's, so it may outlive the call.
func Handle[Req, Res any](status int, fn func(ctx context.Context, in In[Req]) (Res, error)) gin.HandlerFunc {
	_, bodyless := any(*new(Req)).(None)
	_, silent := any(*new(Res)).(None)
	return func(c *gin.Context) {
		in := In[Req]{c: c}
		if !bodyless {
			if err := bind(c, &in.Body); err != nil {
				Fail(c, err)
				return
			}
		}
		res, err := fn(c.Request.Context(), in)
		switch {
		case err != nil:
			Fail(c, err)
		case silent:
			c.Status(status)
			c.Writer.WriteHeaderNow()
		default:
			respond(c, status, &res)
		}
	}
}

func bind(c *gin.Context, body any) error {
	if err := decode(c.Request, body); err != nil {
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

func respond(c *gin.Context, status int, res any) {
	if err := writeJSON(c, status, typeJSON, res); err != nil {
		Fail(c, err)
	}
}
