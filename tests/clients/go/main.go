// Obeys the driver's commands with franz-go. The commands are described in ../README.md.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	pollTimeout    = 5 * time.Millisecond
	fetchWait      = 20 * time.Millisecond
	commandTimeout = 120 * time.Second
)

type client struct {
	broker   string
	consumer *kgo.Client
	assigned map[string]int32
	producer *kgo.Client
	failure  chan error // of the open producer, the first one only
}

func newClient(broker string) (*client, error) {
	c := &client{broker: broker}
	return c, c.consume(kgo.ReadUncommitted())
}

// Starts over with a consumer of that isolation level, to which nothing is assigned.
func (c *client) consume(isolation kgo.IsolationLevel) error {
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(c.broker),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(fetchWait),
		kgo.FetchIsolationLevel(isolation),
		kgo.MetadataMinAge(100*time.Millisecond),
		kgo.MetadataMaxAge(time.Second),
	)
	c.consumer, c.assigned = consumer, map[string]int32{}
	return err
}

func (c *client) obey(words []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	switch words[0] {
	case "create":
		return c.create(ctx, words[1], number(words[2]))
	case "delete":
		return c.delete(ctx, words[1])
	case "produce":
		return c.produce(ctx, words[1], number(words[2]), number(words[3]), number(words[4]), words[5])
	case "assign":
		return c.assign(words[1:])
	case "recreated":
		return c.recreated(words[1], number(words[2]))
	case "poll":
		return c.poll(number(words[1]), number(words[2]))
	case "committed":
		c.closeConsumer()
		return c.consume(kgo.ReadCommitted())
	case "open":
		return c.open(words[1])
	case "send":
		c.send(words[1], number(words[2]), number(words[3]), number(words[4]), words[5])
		return nil
	case "flush":
		return c.flush(ctx)
	case "begin":
		return c.producer.BeginTransaction()
	case "commit":
		if err := c.flush(ctx); err != nil {
			return err
		}
		return c.producer.EndTransaction(ctx, kgo.TryCommit)
	case "abort":
		return c.abort(ctx)
	}
	return fmt.Errorf("unknown command %s", words[0])
}

func (c *client) create(ctx context.Context, name string, partitions int) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), 1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = 10000
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, c.consumer)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Topics[0].ErrorCode)
}

func (c *client) delete(ctx context.Context, name string) error {
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TimeoutMillis = 10000
	request.TopicNames = []string{name}
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, c.consumer)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Topics[0].ErrorCode)
}

func (c *client) produce(ctx context.Context, topic string, partitions, from, count int, label string) error {
	producer, err := kgo.NewClient(
		kgo.SeedBrokers(c.broker),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		// Every client here reads gzip without further libraries; the default is snappy.
		kgo.ProducerBatchCompression(kgo.GzipCompression()),
	)
	if err != nil {
		return err
	}
	defer producer.Close()
	records := make([]*kgo.Record, 0, count)
	for i := from; i < from+count; i++ {
		value := []byte(label + "-" + strconv.Itoa(i))
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: value})
	}
	return producer.ProduceSync(ctx, records...).FirstErr()
}

func (c *client) open(transactionalID string) error {
	c.closeProducer()
	options := []kgo.Opt{
		kgo.SeedBrokers(c.broker),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(4096),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
	}
	if transactionalID != "-" {
		options = append(options, kgo.TransactionalID(transactionalID))
	}
	producer, err := kgo.NewClient(options...)
	c.producer, c.failure = producer, make(chan error, 1)
	if err != nil || transactionalID == "-" {
		return err
	}
	// The producer asks for its id with the first transaction; asking now fences others now.
	_, _, err = producer.ProducerID(context.Background())
	return err
}

func (c *client) send(topic string, partitions, from, count int, label string) {
	failure := c.failure
	for i := from; i < from+count; i++ {
		value := []byte(label + "-" + strconv.Itoa(i))
		record := &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: value}
		c.producer.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failure <- err:
				default:
				}
			}
		})
	}
}

func (c *client) flush(ctx context.Context) error {
	if err := c.producer.Flush(ctx); err != nil {
		return err
	}
	select {
	case err := <-c.failure:
		return err
	default:
		return nil
	}
}

func (c *client) abort(ctx context.Context) error {
	if err := c.producer.AbortBufferedRecords(ctx); err != nil {
		return err
	}
	return c.producer.EndTransaction(ctx, kgo.TryAbort)
}

func (c *client) closeProducer() {
	if c.producer != nil {
		c.producer.Close()
		c.producer = nil
	}
}

func (c *client) assign(topics []string) error {
	wanted := map[string]int32{}
	for _, topic := range topics {
		name, partitions, _ := strings.Cut(topic, ":")
		wanted[name] = int32(number(partitions))
	}
	for name, partitions := range c.assigned {
		if wanted[name] != partitions {
			c.consumer.PurgeTopicsFromClient(name)
			delete(c.assigned, name)
		}
	}
	for name, partitions := range wanted {
		if c.assigned[name] != partitions {
			c.add(name, partitions)
		}
	}
	return nil
}

// This client never takes up a new id by itself: the application is to purge the topic and add it again.
func (c *client) recreated(topic string, partitions int) error {
	c.consumer.PurgeTopicsFromClient(topic)
	c.add(topic, int32(partitions))
	return nil
}

func (c *client) add(topic string, partitions int32) {
	offsets := map[int32]kgo.Offset{}
	for p := range partitions {
		offsets[p] = kgo.NewOffset().AtStart()
	}
	c.consumer.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets})
	c.assigned[topic] = partitions
}

func (c *client) poll(polls, enough int) error {
	records := 0
	for i := 0; i < polls && (enough == 0 || records < enough); i++ {
		ctx, cancel := context.WithTimeout(context.Background(), pollTimeout)
		fetches := c.consumer.PollFetches(ctx)
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

// Closing cuts off a fetch in flight, and with it the connection that would carry the session's close; so first let the
// last fetch come back.
func (c *client) closeConsumer() {
	for topic := range c.assigned {
		c.consumer.PauseFetchTopics(topic)
	}
	time.Sleep(5 * fetchWait)
	c.consumer.Close()
}

func number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	c, err := newClient(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() && commands.Text() != "quit" {
		if err := c.obey(strings.Fields(commands.Text())); err != nil {
			fmt.Println("failed", err)
		} else {
			fmt.Println("done")
		}
	}
	c.closeProducer()
	c.closeConsumer()
}
