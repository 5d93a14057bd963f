-- KEYS[1] the lease
-- ARGV[1] who gives it back
-- Frees the lease if it is still that holder's, and answers how many were freed.
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
