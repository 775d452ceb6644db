// A member of a consumer group, by franz-go. The commands are described in ../../README.md.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const pollTimeout = 5 * time.Millisecond

// This client says what it is assigned by callbacks only, which run beside the polls.
type assignment struct {
	sync.Mutex
	partitions map[string]map[int32]bool
}

func (a *assignment) add(topics map[string][]int32) {
	a.Lock()
	defer a.Unlock()
	for topic, partitions := range topics {
		if a.partitions[topic] == nil {
			a.partitions[topic] = map[int32]bool{}
		}
		for _, partition := range partitions {
			a.partitions[topic][partition] = true
		}
	}
}

func (a *assignment) remove(topics map[string][]int32) {
	a.Lock()
	defer a.Unlock()
	for topic, partitions := range topics {
		for _, partition := range partitions {
			delete(a.partitions[topic], partition)
		}
	}
}

func (a *assignment) print() {
	a.Lock()
	defer a.Unlock()
	for topic, partitions := range a.partitions {
		for partition := range partitions {
			fmt.Printf("assigned %s %d\n", topic, partition)
		}
	}
}

type member struct {
	consumer *kgo.Client
	assigned *assignment
}

func newMember(group, broker string) (*member, error) {
	assigned := &assignment{partitions: map[string]map[int32]bool{}}
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(broker),
		kgo.ConsumerGroup(group),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
			assigned.add(topics)
		}),
		// With a callback of one's own the commit before a revocation is one's own too.
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, topics map[string][]int32) {
			if err := client.CommitUncommittedOffsets(ctx); err != nil {
				fmt.Fprintf(os.Stderr, "commit: %v\n", err)
			}
			assigned.remove(topics)
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
			assigned.remove(topics)
		}),
	)
	return &member{consumer: consumer, assigned: assigned}, err
}

func (m *member) obey(words []string) error {
	switch words[0] {
	case "subscribe":
		m.consumer.AddConsumeTopics(words[1:]...)
		return nil
	case "poll":
		return m.poll(number(words[1]), number(words[2]))
	case "assignment":
		m.assigned.print()
		return nil
	}
	return fmt.Errorf("unknown command %s", words[0])
}

func (m *member) poll(polls, enough int) error {
	records := 0
	for i := 0; i < polls && (enough == 0 || records < enough); i++ {
		ctx, cancel := context.WithTimeout(context.Background(), pollTimeout)
		fetches := m.consumer.PollFetches(ctx)
		cancel()
		for _, failure := range fetches.Errors() {
			if !errors.Is(failure.Err, context.DeadlineExceeded) {
				fmt.Fprintf(os.Stderr, "fetch of %s-%d: %v\n", failure.Topic, failure.Partition, failure.Err)
			}
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records++
			fmt.Printf("record %s %d %d %s\n", r.Topic, r.Partition, r.Offset, r.Value)
		})
	}
	return nil
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	m, err := newMember(os.Args[1], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() && commands.Text() != "quit" {
		if err := m.obey(strings.Fields(commands.Text())); err != nil {
			fmt.Println("failed", err)
		} else {
			fmt.Println("done")
		}
	}
	m.consumer.Close()
}
