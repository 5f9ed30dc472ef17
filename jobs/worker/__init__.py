"""The worker process: messages in, verdicts out, nothing known of PostgreSQL.

boot       the process: settings, signals, start, stop
broker     dramatiq-sqs without its dangers; actors declares the work on it
consumer   one queue: holds messages by lease (heartbeat, leases), deletes finished ones only
runner     one message from first report to last (reporting, patience, gate, tempdirs)
sandbox    one file to lines or a verdict (warm, verdicts); watchdog: the supervisor's friend

helper     another process: holds the parsers, forks a child per file
child      the fork: puts up the walls (walls, seccomp, landlock) and parses
"""
