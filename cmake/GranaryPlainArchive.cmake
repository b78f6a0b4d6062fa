# granary_plain_archive(<static library>): removes from its archive what the compiler has put into fat objects for optimization across
# translation units. Otherwise every program that links the archive would be optimized as a whole, which takes a minute of processor
# time, even if its own project does not ask for that. The ordinary code, which was optimized as well, stays.
function(granary_plain_archive target)
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_OBJCOPY} --wildcard --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_* $<TARGET_FILE:${target}>)
endfunction()
