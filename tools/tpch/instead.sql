-- 3: How many orders there are, and what the largest are about: a quantile in place of the ten largest
SELECT COUNT(*) AS orders, QUANTILE_CONT(revenue, 0.95) AS large_revenue
FROM (
    SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue
    FROM customer, orders, lineitem
    WHERE
        c_mktsegment = 'BUILDING'
        AND c_custkey = o_custkey
        AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15'
        AND l_shipdate > DATE '1995-03-15'
    GROUP BY l_orderkey
) AS unshipped

-- 10: Revenue by nation in place of customers
SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer, orders, lineitem, nation
WHERE
    c_custkey = o_custkey
    AND l_orderkey = o_orderkey
    AND o_orderdate >= DATE '1993-10-01'
    AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH
    AND l_returnflag = 'R'
    AND c_nationkey = n_nationkey
GROUP BY n_name
ORDER BY revenue DESC
LIMIT 20

-- 17: The average is released first, over the lines of all parts, and its answer is a number in the second query
SELECT 0.2 * AVG(l_quantity) AS few FROM lineitem;

SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE
    p_partkey = l_partkey
    AND p_brand = 'Brand#23'
    AND p_container = 'MED BOX'
    AND l_quantity < {first}

-- 18: How many large orders there are, and how large they are together
SELECT COUNT(*) AS large_orders, SUM(o_totalprice) AS total_price
FROM orders
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 300)

-- 22: The average balance is released first, with one row for each customer, and its answer is a number in the second query
SELECT AVG(balance) AS average
FROM (
    SELECT c_custkey, MAX(c_acctbal) AS balance
    FROM customer
    WHERE c_acctbal > 0.00 AND SUBSTRING(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17')
    GROUP BY c_custkey
) AS balances;

SELECT cntrycode, COUNT(*) AS numcust, SUM(balance) AS totacctbal
FROM (
    SELECT c_custkey, SUBSTRING(MAX(c_phone) FROM 1 FOR 2) AS cntrycode, MAX(c_acctbal) AS balance
    FROM customer
    WHERE c_acctbal > {first} AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)
    GROUP BY c_custkey
) AS custsale
WHERE cntrycode IN ('13', '31', '23', '29', '30', '18', '17')
GROUP BY cntrycode
ORDER BY cntrycode
