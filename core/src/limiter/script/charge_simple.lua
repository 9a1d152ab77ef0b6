-- One charge of all_simple.
if ALL_FITS and string.sub(value, 1, ALL_PREFIX) == ALL_HEADING then
  --> simple
end
place = ALL_NEXT
