package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The search attributes of a run, for people who look at runs with Temporal's own tools.
var (
	statusKey   = temporal.NewSearchAttributeKeyKeyword("HocketStatus")
	workflowKey = temporal.NewSearchAttributeKeyKeyword("HocketWorkflow")
)

const (
	keptDays    = 3                // of closed executions in a namespace that Prepare creates; the store keeps them longer
	prepareWait = 30 * time.Second // until all parts of the server know the search attributes
)

// Prepare makes a namespace ready for runs: it creates the namespace if it is missing, and its search attributes. It may
// be repeated.
func Prepare(ctx context.Context, o client.Options) error {
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return unreachable(o, err)
	}
	defer c.Close()
	name := namespace(o)
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	if errors.As(err, new(*serviceerror.NamespaceNotFound)) {
		_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(keptDays * 24 * time.Hour),
		})
	}
	if err != nil && !errors.As(err, new(*serviceerror.NamespaceAlreadyExists)) {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, prepareWait)
	defer cancel()
	for {
		if ready(c, name, o.HostPort) == nil { // also where only others may change it
			return nil
		}
		err = register(ctx, c, name)
		select {
		case <-ctx.Done():
			return cmp.Or(err, ready(c, name, o.HostPort))
		case <-time.After(200 * time.Millisecond): // a new namespace is not known everywhere yet
		}
	}
}

// register adds the search attributes that are missing.
func register(ctx context.Context, c client.Client, namespace string) error {
	has, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := map[string]enums.IndexedValueType{}
	for _, key := range []temporal.SearchAttributeKey{statusKey, workflowKey} {
		if _, ok := has.GetCustomAttributes()[key.GetName()]; !ok {
			missing[key.GetName()] = key.GetValueType()
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	return err
}

// ready returns an error if a namespace does not exist or is not prepared. A user who may not list runs may still use it.
func ready(c client.Client, namespace, address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), awayFor)
	defer cancel()
	_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: namespace, Query: fmt.Sprintf("%s = 'running' AND %s = 'none'", statusKey.GetName(), workflowKey.GetName()),
	})
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return fmt.Errorf("the Temporal server at %s has no namespace %q: create it with `hocket migrate`, or use another one", cmp.Or(address, client.DefaultHostPort), namespace)
	case errors.As(err, new(*serviceerror.InvalidArgument)):
		return fmt.Errorf("the namespace %q of the Temporal server at %s lacks the search attributes of Hocket: add them with `hocket migrate`", namespace, cmp.Or(address, client.DefaultHostPort))
	}
	return nil
}

func namespace(o client.Options) string {
	if o.Namespace != "" {
		return o.Namespace
	}
	return client.DefaultNamespace
}
