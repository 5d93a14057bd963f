-- KEYS[1] the lease: who holds it, for a limited time
-- ARGV[1] who asks
-- ARGV[2] for how long, in milliseconds
-- Gives a free lease to whoever asks, extends it for its holder, and answers who holds it.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return ARGV[1]
end
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return holder
